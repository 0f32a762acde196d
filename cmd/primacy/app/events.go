package app

import (
	"context"
	"time"

	"github.com/primacy-dev/primacy/config"
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
	o := objectOf(ref.Locks)
	o.Name, o.Store = ref.Lock, ref.Locks
	return o, o.Kind != ""
}

// objectOf is an object of a store without its name; it has no kind if Kubernetes does not keep such objects.
func objectOf(s lock.Store) events.Object {
	const leases = "coordination.k8s.io/v1"
	switch s := s.(type) {
	case *lease.Store:
		return events.Object{APIVersion: leases, Kind: config.DefaultLockKind, Namespace: s.Namespace()}
	case *lease.SharedStore:
		return events.Object{APIVersion: leases, Kind: config.DefaultLockKind, Namespace: s.Namespace()}
	case *cmlock.Store:
		return events.Object{APIVersion: "v1", Kind: kindOfConfigMaps, Namespace: s.Namespace()}
	}
	return events.Object{}
}
