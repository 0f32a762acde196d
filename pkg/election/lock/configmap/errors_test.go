package configmap

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/scripted"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func TestAnswers(t *testing.T) {
	scripted.Run(t, scripted.Kind{
		Resource: "configmaps",
		New: func(t *testing.T, address, namespace string) lock.Store {
			return In(newClient(t, &rest.Config{Host: address}), namespace)
		},
		Object: func(uid, version, holder string) string {
			annotations := ""
			if holder != "" {
				annotations = fmt.Sprintf(`,"annotations":{%q:%q}`, LeaderAnnotation, fmt.Sprintf(`{"holderIdentity":%q}`, holder))
			}
			return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":%q,"resourceVersion":%q%s}}`, uid, version, annotations)
		},
		List: func() string { return `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"}}` },
	})
}

// answering makes a store whose server gives one answer to everything.
func answering(t *testing.T, answer http.HandlerFunc) (*Store, *atomic.Int32) {
	t.Helper()
	address, asked := scripted.Server(t, answer)
	return In(newClient(t, &rest.Config{Host: address}), "edge-system"), asked
}

// TestTotalSize checks that the store itself enforces the common limit of our annotations and others':
// only a write that it refused before sending is certainly not written.
func TestTotalSize(t *testing.T) {
	s, asked := answering(t, scripted.Plain(500, ""))
	m := annotated(`{"x":"y"}`)
	m.Annotations["example.com/huge"] = strings.Repeat("x", 256<<10-100)
	r := record.Record{Holder: "h", Duration: time.Second, Rest: restOfMeta(m)}
	if _, err := s.Put(t.Context(), "a", r, record.Version{}); !errors.Is(err, lock.ErrInvalid) || asked.Load() != 0 {
		t.Errorf("got %v, asked %d times", err, asked.Load())
	}
}
