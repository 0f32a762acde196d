package ctrl_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/ctrl"
	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// TestUngatedIsSaid checks that New warns of a manager whose client is not gated, and that a write outside a Reconcile says so.
func TestUngatedIsSaid(t *testing.T) {
	for name, tt := range map[string]struct {
		gate func(*rest.Config) *rest.Config
		says bool
	}{
		"gated":   {ctrl.Gated, false},
		"stamped": {ctrl.Stamped, false},
		"ungated": {rest.CopyConfig, true},
	} {
		t.Run(name, func(t *testing.T) {
			var said []string
			log := funcr.New(func(_, args string) { said = append(said, args) }, funcr.Options{})
			// A token has client-go wrap the transport once more.
			config := &rest.Config{Host: "http://127.0.0.1:1", BearerToken: "t"}
			mgr, err := manager.New(tt.gate(config), manager.Options{
				Logger: log, Metrics: metricsserver.Options{BindAddress: "0"},
				MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
					m := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion})
					m.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
					return m, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ctrl.New(mgr, election.Config{Group: "things", Host: "a", Member: election.Member{Revision: "v1"}, Locks: memory.New(clock.Boottime()).Store()}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(strings.Join(said, "\n"), "the manager's client is not gated"); got != tt.says {
				t.Errorf("warned: %v; the log says %q", got, said)
			}
			err = mgr.GetClient().Create(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "o"}})
			if got := errors.Is(err, fence.ErrNotLeading) && strings.Contains(err.Error(), "not within a Reconcile"); got == tt.says {
				t.Errorf("a write outside a Reconcile: %v", err)
			}
		})
	}
}

// TestAManagerThatElectsIsTold checks that a gated manager with LeaderElection on is told why it never wins.
func TestAManagerThatElectsIsTold(t *testing.T) {
	config := ctrl.Gated(rest.AddUserAgent(&rest.Config{Host: "http://127.0.0.1:1"}, "leader-election"))
	leases, err := coordinationclient.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = leases.Leases("n").Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l"}}, metav1.CreateOptions{})
	if !errors.Is(err, fence.ErrNotLeading) || !strings.Contains(err.Error(), "leave manager.Options.LeaderElection off") {
		t.Errorf("the manager's own election: %v", err)
	}
}
