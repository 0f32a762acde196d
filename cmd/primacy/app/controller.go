package app

import (
	"slices"
	"sync"

	"go.uber.org/zap"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/revisions/controller"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check/all"
)

// longestName is that of an election: its name is a label too.
const longestName = 63

// withController adds the election in which rollouts are driven, unless the configuration has
// one of that name.
func (m *member) withController(elections []planned, maps coreclient.ConfigMapsGetter) []planned {
	group := m.process.Group
	name := controller.ElectionName(group)
	switch {
	case slices.ContainsFunc(elections, func(p planned) bool { return p.spec.Name == name }):
		m.log.Warn("the configuration has the election in which rollouts are driven, so this member drives none (give it another name)", zap.String("election", name))
		return elections
	case len(name) > longestName:
		m.log.Warn("the name of the group is too long for an election in which rollouts are driven (55 characters are allowed)", zap.String("election", name))
		return elections
	}
	locks := m.planner.locks.of(config.DefaultLockKind, config.SharedWithNobody)
	driver := controller.New(controller.Config{
		Group: group, Sessions: locks, Timing: m.process.Configuration.Timing, Elections: m.roster.all,
		Plans: m.steering, Maps: maps.ConfigMaps(m.planner.namespace), Checks: all.Registry(), Default: m.source, Log: m.log,
	})
	// Two controllers at a time do no harm: what they write carries their tokens.
	spec := election.Spec{Name: name, Lock: name, Locks: locks, Bootstrap: machine.BootstrapImmediate}
	return append(slices.Clip(elections), planned{spec: spec, runner: driver})
}

// roster keeps the elections that a rollout moves. Its methods may be called from any
// goroutine.
type roster struct {
	mu        sync.Mutex
	elections []controller.Election
	changed   chan struct{} // closed when elections are no longer the last
}

// all are the elections at present; the channel is closed when they are others.
func (r *roster) all() ([]controller.Election, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.elections, r.changed
}

func (r *roster) add(s election.Spec) {
	r.change(func(es []controller.Election) []controller.Election {
		return append(es, controller.Election{Name: s.Name, Lock: s.Lock, Locks: s.Locks})
	})
}

func (r *roster) remove(name string) {
	r.change(func(es []controller.Election) []controller.Election {
		return slices.DeleteFunc(es, func(e controller.Election) bool { return e.Name == name })
	})
}

func (r *roster) change(f func([]controller.Election) []controller.Election) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.elections = f(slices.Clone(r.elections))
	close(r.changed)
	r.changed = make(chan struct{})
}
