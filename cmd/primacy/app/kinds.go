package app

import (
	"fmt"

	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
	cmlock "github.com/primacy-dev/primacy/pkg/election/lock/configmap"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/configmap"
	"github.com/primacy-dev/primacy/pkg/revisions/file"
	"github.com/primacy-dev/primacy/pkg/revisions/static"
	"github.com/primacy-dev/primacy/pkg/revisions/webhook"
)

// Every kind of source and lock is one line here; the kinds of runners are in options.go.

// sourceClients are the clients that read sources in a cluster.
type sourceClients struct {
	core      coreclient.ConfigMapsGetter
	admission admissionclient.MutatingWebhookConfigurationsGetter
}

// sourceKinds are the sources of the preferred revision. With zero clients they can be decoded,
// but not watched.
func sourceKinds(c sourceClients) *revisions.Registry {
	r := revisions.NewRegistry()
	r.Register("static", static.Kind())
	r.Register("file", file.Kind())
	r.Register(kindConfigMap, configmap.Kind(c.core))
	r.Register("webhook", webhook.Kind(c.admission))
	r.Describe("static", static.Block())
	r.Describe("file", file.Block())
	r.Describe(kindConfigMap, configmap.Block())
	r.Describe("webhook", webhook.Block())
	return r
}

// sourcesIn are the sources of the preferred revision with clients for a cluster.
func sourcesIn(c *rest.Config) (*revisions.Registry, error) {
	core, err := apiserver.ClientFor(c, coreclient.NewForConfigAndClient)
	if err != nil {
		return nil, fmt.Errorf("client for sources of the preferred revision: %w", err)
	}
	admission, err := apiserver.ClientFor(c, admissionclient.NewForConfigAndClient)
	if err != nil {
		return nil, fmt.Errorf("client for sources of the preferred revision: %w", err)
	}
	return sourceKinds(sourceClients{core, admission}), nil
}

// kindConfigMap is the source that reads a ConfigMap; kindOfConfigMaps is the kind of lock.
const (
	kindConfigMap    = "configMap"
	kindOfConfigMaps = "ConfigMap"
)

// lockKinds are the kinds of lock.
var lockKinds = map[string]lockKind{
	"Lease": {
		store: func(c *clients, namespace string) lock.Store { return lease.In(c.leases, namespace, c.sessions...) },
		apart: func(c *clients, namespace string) lock.Store { return lease.Shared(c.leases, namespace) },
		withIstio: func(c *clients, namespace string) lock.Store {
			return lease.Shared(c.leases, namespace, lease.HolderKeys())
		},
	},
	kindOfConfigMaps: {
		store:     func(c *clients, namespace string) lock.Store { return cmlock.In(c.configMaps, namespace) },
		apart:     func(c *clients, namespace string) lock.Store { return cmlock.In(c.configMaps, namespace) },
		withIstio: func(c *clients, namespace string) lock.Store { return cmlock.In(c.configMaps, namespace) },
	},
}
