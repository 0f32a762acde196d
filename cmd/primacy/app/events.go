package app

import (
	"context"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/events"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	cmlock "github.com/primacy-dev/primacy/pkg/election/lock/configmap"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
)

// lastEvents is how long a member that has left may take to write its last Kubernetes Events.
const lastEvents = time.Second

// record writes Kubernetes Events about this member's terms until the manager's Run has returned; the caller calls end
// after that.
func (m *member) record() (end func()) {
	if m.cluster == nil {
		return func() {}
	}
	r := events.New(events.Config{
		Events: m.core, Object: m.lockOf, Identity: m.manager.Identity, Host: m.name, Clock: m.clock, Log: m.log,
	})
	writing, stop := context.WithCancel(context.Background())
	transitions := m.manager.Watch(context.Background()) // closed when Run returns
	done := make(chan struct{})
	go func() { // joined by end
		defer close(done)
		r.Run(writing, transitions)
	}()
	return func() {
		late := clock.AfterFunc(lastEvents, stop)
		<-done
		late.Stop()
		stop()
	}
}

// lockOf is the lock of an election, for its Events.
func (m *member) lockOf(name string) (events.Object, bool) {
	ref, ok := m.manager.Lock(name)
	if !ok {
		return events.Object{}, false
	}
	api, kind := objectKind(ref.Locks)
	return events.Object{APIVersion: api, Kind: kind, Namespace: m.planner.namespace, Name: ref.Lock, Store: ref.Locks}, kind != ""
}

// objectKind is the kind of the objects of a store; empty if Kubernetes does not keep them.
func objectKind(s lock.Store) (apiVersion, kind string) {
	switch s.(type) {
	case *lease.Store:
		return "coordination.k8s.io/v1", "Lease"
	case *cmlock.Store:
		return "v1", "ConfigMap"
	}
	return "", ""
}
