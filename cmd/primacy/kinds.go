package main

import (
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/configmap"
	"github.com/primacy-dev/primacy/pkg/revisions/static"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/exec"
	"github.com/primacy-dev/primacy/pkg/runners/funcs"
)

// Every kind that this program knows is one line here.

// runnerKinds are the kinds of work.
func runnerKinds() *runners.Registry {
	r := runners.NewRegistry()
	r.Register("exec", exec.Kind())
	r.Register("func", functions().Kind())
	return r
}

// functions are those that are compiled in.
func functions() *funcs.Table {
	t := funcs.NewTable()
	t.RegisterFactory(funcs.HeartbeatName, funcs.Heartbeat)
	return t
}

// sourceKinds are the sources of the preferred revision. Without a client they can be
// decoded, but not watched.
func sourceKinds(client coreclient.ConfigMapsGetter) *revisions.Registry {
	r := revisions.NewRegistry()
	r.Register("static", static.Kind())
	r.Register("configMap", configmap.Kind(client))
	return r
}

// lockKinds make the store of each kind of lock in a namespace.
var lockKinds = map[string]func(lease.Client, string) lock.Store{
	"Lease": func(c lease.Client, namespace string) lock.Store { return lease.In(c, namespace) },
}
