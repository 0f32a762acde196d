package app

import (
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	cmlock "github.com/primacy-dev/primacy/pkg/election/lock/configmap"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/configmap"
	"github.com/primacy-dev/primacy/pkg/revisions/static"
)

// Every kind of source and lock is one line here; those of runners are in options.go.

// sourceKinds are the sources of the preferred revision. Without a client they can be
// decoded, but not watched.
func sourceKinds(client coreclient.ConfigMapsGetter) *revisions.Registry {
	r := revisions.NewRegistry()
	r.Register("static", static.Kind())
	r.Register("configMap", configmap.Kind(client))
	return r
}

// lockKinds are the kinds of lock.
var lockKinds = map[string]lockKind{
	"Lease": {
		store: func(c *clients, namespace string) lock.Store { return lease.In(c.leases, namespace) },
		withIstio: func(c *clients, namespace string) lock.Store {
			return lease.Shared(c.leases, namespace, lease.HolderKeys())
		},
	},
	"ConfigMap": {
		store:     func(c *clients, namespace string) lock.Store { return cmlock.In(c.configMaps, namespace) },
		withIstio: func(c *clients, namespace string) lock.Store { return cmlock.In(c.configMaps, namespace) },
	},
}
