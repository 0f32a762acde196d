package ctrl

import (
	"context"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Watch is one kind of object that a controller watches. For, Owns and On make one.
type Watch struct {
	object     client.Object
	make       func(manager.Manager) (handler.EventHandler, error)
	predicates []predicate.Predicate
}

func (w Watch) handler(mgr manager.Manager) (handler.EventHandler, error) {
	if w.make == nil {
		return nil, errNoHandler
	}
	return w.make(mgr)
}

// For watches the objects that are reconciled.
func For(object client.Object, predicates ...predicate.Predicate) Watch {
	return On(object, &handler.EnqueueRequestForObject{}, predicates...)
}

// Owns watches objects whose controller is an owner of that kind; the owner is reconciled.
func Owns(owner, object client.Object, predicates ...predicate.Predicate) Watch {
	return Watch{object, func(mgr manager.Manager) (handler.EventHandler, error) {
		return handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), owner, handler.OnlyControllerOwner()), nil
	}, predicates}
}

// On watches objects with any handler, which every term uses.
func On(object client.Object, h handler.EventHandler, predicates ...predicate.Predicate) Watch {
	return Watch{object, func(manager.Manager) (handler.EventHandler, error) { return h, nil }, predicates}
}

// watched is a Watch with its handler.
type watched struct {
	object     client.Object
	handler    handler.EventHandler
	predicates []predicate.Predicate
}

// informed is a Watch with its informer, which lives as long as the manager.
type informed struct {
	informer   cache.Informer
	handler    handler.EventHandler
	predicates []predicate.Predicate
}

// subscription feeds the queue of one term. controller-runtime's own source would leave its handler
// with the informer for ever.
type subscription struct {
	informed

	mu           sync.Mutex
	registration toolscache.ResourceEventHandlerRegistration
	// ended: the term is over. A controller that is told to stop does not wait for Start.
	ended bool
}

// Start implements source.Source.
func (s *subscription) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return ctx.Err()
	}
	s.registration, err = s.informer.AddEventHandler((&feeder{ctx, queue, s.handler, s.predicates}).functions())
	return err
}

// end removes the handler from the informer, which gets none after that.
func (s *subscription) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.registration == nil {
		return nil
	}
	return s.informer.RemoveEventHandler(s.registration)
}

// feeder turns an informer's events into those of controller-runtime.
type feeder struct {
	ctx        context.Context
	queue      workqueue.TypedRateLimitingInterface[reconcile.Request]
	handler    handler.EventHandler
	predicates []predicate.Predicate
}

func (f *feeder) functions() toolscache.ResourceEventHandlerDetailedFuncs {
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			if o, ok := object.(client.Object); ok {
				f.created(event.CreateEvent{Object: o, IsInInitialList: initial})
			}
		},
		UpdateFunc: f.updated, DeleteFunc: f.deleted,
	}
}

func (f *feeder) created(e event.CreateEvent) {
	if f.ctx.Err() == nil && f.all(func(p predicate.Predicate) bool { return p.Create(e) }) {
		f.handler.Create(f.ctx, e, f.queue)
	}
}

func (f *feeder) updated(before, object any) {
	was, known := before.(client.Object)
	is, ok := object.(client.Object)
	if !known || !ok {
		return
	}
	e := event.UpdateEvent{ObjectOld: was, ObjectNew: is}
	if f.ctx.Err() == nil && f.all(func(p predicate.Predicate) bool { return p.Update(e) }) {
		f.handler.Update(f.ctx, e, f.queue)
	}
}

func (f *feeder) deleted(object any) {
	e := event.DeleteEvent{}
	if left, is := object.(toolscache.DeletedFinalStateUnknown); is {
		object, e.DeleteStateUnknown = left.Obj, true
	}
	o, ok := object.(client.Object)
	if !ok {
		return
	}
	e.Object = o
	if f.ctx.Err() == nil && f.all(func(p predicate.Predicate) bool { return p.Delete(e) }) {
		f.handler.Delete(f.ctx, e, f.queue)
	}
}

func (f *feeder) all(pass func(predicate.Predicate) bool) bool {
	for _, p := range f.predicates {
		if !pass(p) {
			return false
		}
	}
	return true
}
