package ctrl_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
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
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/ctrl"
	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// offline makes a manager that asks no API server what it serves.
func offline(t *testing.T, config *rest.Config, log logr.Logger) manager.Manager {
	t.Helper()
	mgr, err := manager.New(config, manager.Options{
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
	return mgr
}

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
			mgr := offline(t, tt.gate(config), log)
			if _, err := ctrl.New(mgr, election.Config{Group: "things", Host: "a", Member: election.Member{Revision: "v1"}, Locks: memory.New(clock.Boottime()).Store()}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(strings.Join(said, "\n"), "the manager's client is not gated"); got != tt.says {
				t.Errorf("warned: %v; the log says %q", got, said)
			}
			err := mgr.GetClient().Create(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "o"}})
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

// TestEndsWithoutCaches checks that a manager whose caches cannot be filled ends when it is told to.
func TestEndsWithoutCaches(t *testing.T) {
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	mgr := offline(t, ctrl.Gated(&rest.Config{Host: server.URL}), logr.Discard())
	elections, err := ctrl.New(mgr, election.Config{Group: "things", Host: "a", Member: election.Member{Revision: "v1"}, Locks: memory.New(clock.Boottime()).Store()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := elections.Add(t.Context(), election.Spec{Name: "maps"}, ctrl.Controller{
		Watches: []ctrl.Watch{ctrl.For(&corev1.ConfigMap{})}, Reconciler: reconcile.Func(nil),
	}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	await(t, soon(t), asked, "list of ConfigMaps")
	stop()
	if err := await(t, soon(t), ended, "end of the manager"); err != nil {
		t.Error(err)
	}
}

// TestMistakesInMigrateFrom checks that what would end in two at work, or in nobody, is refused.
func TestMistakesInMigrateFrom(t *testing.T) {
	config := &rest.Config{Host: "http://127.0.0.1:1"}
	leases, err := lease.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	here, again := lease.In(leases, "n"), lease.In(leases, "n")
	good := election.Spec{Name: "manager", Lock: "l", Locks: again}
	migrate := func(e *ctrl.Elections, spec election.Spec) error {
		_, err := e.MigrateFrom(spec)
		return err
	}
	add := func(e *ctrl.Elections, name string) error {
		_, err := e.Add(t.Context(), election.Spec{Name: name}, ctrl.Controller{
			Watches: []ctrl.Watch{ctrl.For(&corev1.ConfigMap{})}, Reconciler: reconcile.Func(nil),
		})
		return err
	}
	for name, tt := range map[string]struct {
		do   func(e *ctrl.Elections) error
		says string
	}{
		"right": {func(e *ctrl.Elections) error { return errors.Join(migrate(e, good), add(e, "a")) }, ""},
		"disabled": {func(e *ctrl.Elections) error {
			return migrate(e, election.Spec{Name: "manager", Lock: "l", Disabled: true})
		}, "it is disabled"},
		"no lock": {func(e *ctrl.Elections) error { return migrate(e, election.Spec{Name: "manager"}) }, "it has no lock"},
		"late":    {func(e *ctrl.Elections) error { return errors.Join(add(e, "a"), migrate(e, good)) }, "call MigrateFrom first"},
		"twice":   {func(e *ctrl.Elections) error { return errors.Join(migrate(e, good), migrate(e, good)) }, "migrates from election manager already"},
		"fails open": {func(e *ctrl.Elections) error {
			return migrate(e, election.Spec{Name: "manager", Lock: "l", Outage: election.Outage{Mode: election.OutageFailOpen}})
		}, "a term that fails open cannot be combined"},
		"the same Lease": {func(e *ctrl.Elections) error { return errors.Join(migrate(e, good), add(e, "l")) }, `its lock "l" is the Lease of election manager`},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := ctrl.New(offline(t, ctrl.Gated(config), logr.Discard()), election.Config{Group: "things", Host: "a", Member: election.Member{Revision: "v1"}, Locks: here})
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.do(e); err == nil && tt.says != "" || err != nil && (tt.says == "" || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
}
