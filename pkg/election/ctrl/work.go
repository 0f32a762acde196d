package ctrl

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/fence"
)

// work runs a controller in each term.
type work struct {
	name       string
	mgr        manager.Manager
	options    controller.Options
	reconciler reconcile.Reconciler
	watches    []watched
}

// Run implements election.Runner.
func (w *work) Run(ctx context.Context, term election.Term) error { return w.during(ctx, term, nil) }

// during works until ctx ends. Writes pass only while the term and those of within are valid; nil for none.
func (w *work) during(ctx context.Context, term election.Term, within *fence.Gate) (err error) {
	gate := fence.For(term)
	options := w.options
	options.Reconciler = gated{gate, w.reconciler}
	if within != nil {
		options.Reconciler = gated{within, options.Reconciler}
	}
	named := true // each term has a controller of this name
	options.SkipNameValidation = &named
	options.DefaultFromConfig(w.mgr.GetControllerOptions())
	if options.Logger.GetSink() == nil {
		options.Logger = w.mgr.GetLogger()
	}
	c, err := controller.NewUnmanaged(w.name, options)
	if err != nil {
		return err
	}
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, watch := range w.watches {
		informer, err := w.mgr.GetCache().GetInformer(ctx, watch.object)
		switch {
		case ctx.Err() != nil:
			return nil // the term ended before the cache of a controller that was added late was full
		case err != nil:
			return fmt.Errorf("watch %T: %w", watch.object, err)
		}
		s := &subscription{informed: informed{informer, watch.handler, watch.predicates}}
		defer func() { err = errors.Join(err, s.end()) }()
		if err := c.Watch(s); err != nil {
			return err
		}
	}
	if err := c.Start(working); err != nil { // it returns once all its workers have
		return err
	}
	return gate.Drain(ctx, term, nil)
}

// gated reconciles under the term's gate.
type gated struct {
	gate *fence.Gate
	of   reconcile.Reconciler
}

// Reconcile implements reconcile.Reconciler. At the end of the term there is nobody to whom an error matters.
func (g gated) Reconcile(ctx context.Context, r reconcile.Request) (result reconcile.Result, err error) {
	err = g.gate.Do(ctx, func(ctx context.Context) error {
		result, err = g.of.Reconcile(ctx, r)
		return err
	})
	if errors.Is(err, fence.ErrNotLeading) && g.gate.Check() != nil {
		return reconcile.Result{}, nil
	}
	return result, err
}
