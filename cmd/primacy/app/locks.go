package app

import (
	"cmp"

	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	cmlock "github.com/primacy-dev/primacy/pkg/election/lock/configmap"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
)

// clients are the connections of locks.
type clients struct {
	leases *lease.APIClient
	// sessions are options of the store that keeps the sessions.
	sessions   []lease.Option
	configMaps *cmlock.APIClient
}

// lockKind makes the stores of one kind of lock in a namespace.
type lockKind struct {
	store func(*clients, string) lock.Store
	// apart makes the store of locks in a namespace that is not that of the sessions.
	apart func(*clients, string) lock.Store
	// withIstio makes the store for locks shared with Istio's electors, which read the holder's key.
	withIstio func(*clients, string) lock.Store
}

// stores are the lock stores. Each is made only once, so that it has one watch.
type stores struct {
	clients *clients
	// namespace is that of the sessions.
	namespace string
	made      map[storeName]lock.Store
}

// storeName is one store. The namespace is empty for that of the sessions.
type storeName struct {
	kind, namespace string
	shared          config.SharedWith
}

// newStores makes the connections. The options are for the store that keeps the sessions.
func newStores(c *rest.Config, namespace string, sessions ...lease.Option) (*stores, error) {
	s := &stores{clients: &clients{sessions: sessions}, namespace: namespace, made: map[storeName]lock.Store{}}
	var err error
	if s.clients.leases, err = lease.NewClient(c); err != nil {
		return nil, err
	}
	if s.clients.configMaps, err = cmlock.NewClient(c); err != nil {
		return nil, err
	}
	return s, nil
}

// sessions is the store of the sessions, and of the locks beside them.
func (s *stores) sessions() lock.Store {
	return s.of(config.DefaultLockKind, "", config.SharedWithNobody)
}

// of is the store for locks of a kind, which must exist, in a namespace.
func (s *stores) of(kind, namespace string, shared config.SharedWith) lock.Store {
	if namespace == s.namespace {
		namespace = ""
	}
	if shared == config.SharedWithClientGo {
		shared = config.SharedWithNobody // client-go reads nothing that we would not write anyway
	}
	name := storeName{kind, namespace, shared}
	if s.made[name] == nil {
		switch k := lockKinds[kind]; {
		case shared == config.SharedWithIstio:
			s.made[name] = k.withIstio(s.clients, cmp.Or(namespace, s.namespace))
		case namespace != "":
			s.made[name] = k.apart(s.clients, namespace)
		default:
			s.made[name] = k.store(s.clients, s.namespace)
		}
	}
	return s.made[name]
}

// lock fills in the election's lock and the electors that share it.
func (s *stores) lock(l config.Lock, spec *election.Spec) {
	spec.Locks = s.of(l.Kind, l.Namespace, l.SharedWith)
	if from := l.MigrateFrom; from != nil {
		spec.MigrateFrom = &election.LockRef{Lock: from.Name, Locks: s.of(from.Kind, from.Namespace, l.SharedWith)}
	}
}

// foreigners are the foreign electors that share the lock.
func foreigners(l config.Lock) election.Foreigners {
	return election.Foreigners{Sharing: sharings[l.SharedWith], Wait: l.Foreign.Wait()}
}

var sharings = map[config.SharedWith]election.Sharing{
	config.SharedWithNobody:   election.NotShared,
	config.SharedWithClientGo: election.SharedWithClientGo,
	config.SharedWithIstio:    election.SharedWithIstio,
}
