package ctrl

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Elections are the elections of a manager's controllers. They are held while the manager runs, from the time its
// caches are filled.
type Elections struct {
	mgr       manager.Manager
	elections *election.Manager
	locks     lock.Store    // of elections that have none of their own
	timing    record.Timing // the same
	from      *predecessor  // nil if there is none
	caches    caches
}

// New makes the elections of the manager's controllers. The client of cfg.Locks must not be gated: nobody would ever lead. The manager's
// configuration should be Gated or Stamped: New warns in the manager's log if it is neither, since a write then passes whoever leads.
func New(mgr manager.Manager, cfg election.Config) (*Elections, error) {
	m, err := election.NewManager(cfg)
	if err != nil {
		return nil, err
	}
	e := &Elections{mgr: mgr, elections: m, locks: cfg.Locks, timing: cfg.Timing, caches: caches{of: mgr.GetCache()}}
	if err := mgr.Add(runnable{e}); err != nil {
		return nil, fmt.Errorf("add the elections to the manager: %w", err)
	}
	if ungated(mgr.GetHTTPClient().Transport) {
		mgr.GetLogger().Info("the manager's client is not gated: its writes pass although their term is over, and without any term (make the manager with ctrl.Gated(config))", "level", "warning")
	}
	return e, nil
}

// runnable runs the elections on every member: controller-runtime's own election must not hold them back.
type runnable struct{ *Elections }

func (r runnable) Start(ctx context.Context) error {
	if full, err := r.caches.fill(ctx); !full {
		return err
	}
	return r.elections.Run(ctx)
}

func (r runnable) NeedLeaderElection() bool { return false }

// Controller is what works during the terms of one election.
type Controller struct {
	// Watches say which objects are watched, and whom a change concerns.
	Watches []Watch
	// Reconciler gets a context of the term: it ends with it, and writes with it pass the gate.
	Reconciler reconcile.Reconciler
	// Options are those of controller-runtime, such as MaxConcurrentReconciles. Its Reconciler is not used.
	Options controller.Options
}

// Add gives a controller an election. Its caches are filled on every member. The name of the election is
// that of the controller in logs and metrics. ctx counts only if
// the manager runs already. The question which kinds there are has the time-out of the manager's client.
func (e *Elections) Add(ctx context.Context, spec election.Spec, c Controller) (*election.Status, error) {
	if c.Reconciler == nil {
		return nil, fmt.Errorf("election %s: no reconciler", spec.Name)
	}
	if len(c.Watches) == 0 {
		return nil, fmt.Errorf("election %s: nothing is watched (begin with ctrl.For)", spec.Name)
	}
	if e.from != nil && e.from.has(e.lockOf(spec)) {
		return nil, fmt.Errorf("election %s: its lock %q is the Lease of election %s, from which the controllers migrate: nobody would ever work (give it another Lock)", spec.Name, e.lockOf(spec).Lock, e.from.status.Election())
	}
	w := &work{name: spec.Name, mgr: e.mgr, options: c.Options, reconciler: c.Reconciler}
	for _, watch := range c.Watches {
		handler, err := watch.handler(e.mgr)
		if err != nil {
			return nil, fmt.Errorf("election %s: watch %T: %w", spec.Name, watch.object, err)
		}
		if err := e.served(watch.object); err != nil {
			return nil, fmt.Errorf("election %s: watch %T: %w", spec.Name, watch.object, err)
		}
		if err := e.caches.add(ctx, watch.object); err != nil {
			return nil, fmt.Errorf("election %s: %w", spec.Name, err)
		}
		w.watches = append(w.watches, watched{watch.object, handler, watch.predicates})
	}
	if e.from != nil {
		spec.Timing = followed(e.timingOf(spec))
		return e.elections.Add(spec, &migrating{w, e.from})
	}
	return e.elections.Add(spec, w)
}

// served says why the API server serves no objects of this kind; nil if it does.
func (e *Elections) served(object client.Object) error {
	kind, err := apiutil.GVKForObject(object, e.mgr.GetScheme())
	if err != nil {
		return err
	}
	_, err = e.mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	return err
}

// Manager is the manager of the elections, for metrics and Status.
func (e *Elections) Manager() *election.Manager { return e.elections }

var errNoHandler = errors.New("no handler (make watches with For, Owns or On)")
