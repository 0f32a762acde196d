package configmap

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/served"
)

// TestConformance runs the suite over the wire, against a real API server, with three kinds of watch: one
// stream for each name, the names out of one stream, and the whole namespace.
func TestConformance(t *testing.T) {
	for what, store := range map[string]func(*realm) lock.Store{
		"names": func(r *realm) lock.Store { return In(r.Client, r.Namespace) },
		"whole": func(r *realm) lock.Store { return In(r.Client, r.Namespace, WholeNamespace()) },
		"all":   func(r *realm) lock.Store { return struct{ lock.Store }{In(r.Client, r.Namespace)} },
	} {
		t.Run(what, func(t *testing.T) {
			locktest.Run(t, func(t *testing.T) locktest.Realm {
				r := newRealm(t)
				r.store = store
				return r
			})
		})
	}
}

// configMaps is how the suite reads and writes ConfigMaps.
var configMaps = served.Kind[*corev1.ConfigMap]{
	Resource: "configmaps", NewClient: NewClient, New: func() *corev1.ConfigMap { return new(corev1.ConfigMap) }, Read: object, Write: configMap,
}

// realm is a namespace of its own, behind a gate.
type realm struct {
	*served.Realm[*corev1.ConfigMap]
	store func(*realm) lock.Store
}

func newRealm(t *testing.T) *realm {
	t.Helper()
	return &realm{Realm: served.New(t, configMaps), store: func(r *realm) lock.Store { return In(r.Client, r.Namespace) }}
}

func newClient(t *testing.T, config *rest.Config) *APIClient {
	t.Helper()
	return served.NewClient(t, configMaps, config)
}

func (r *realm) Store() lock.Store { return r.store(r) }

// Unit implements locktest.Coarse.
func (r *realm) Unit() time.Duration { return time.Second }
