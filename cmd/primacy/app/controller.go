package app

import (
	"reflect"
	"slices"
	"sync"

	"go.uber.org/zap"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/revisions/controller"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check/all"
)

// longestName is the longest name of an election: the name is also a label.
const longestName = 63

// controller is the election whose leader drives rollouts, ready to be added; nil if the
// group's name is too long for it.
func (m *member) controller(maps coreclient.ConfigMapsGetter) *planned {
	group := m.process.Group
	name := controller.ElectionName(group)
	if len(name) > longestName {
		m.log.Warn("the name of the group is too long for an election in which rollouts are driven (55 characters are allowed)", zap.String("election", name))
		return nil
	}
	locks := m.planner.locks.sessions()
	driver := controller.New(controller.Config{
		Group: group, Sessions: locks, Timing: m.process.Configuration.Timing, Elections: m.roster.all,
		Plans: m.steering, Maps: maps.ConfigMaps(m.planner.namespace), Checks: all.Registry(), Default: m.source, Clock: m.clock, Log: m.log,
	})
	// Two controllers at a time do no harm: their tokens fence their writes.
	spec := election.Spec{Name: name, Lock: name, Locks: locks, Bootstrap: election.BootstrapImmediate}
	return &planned{spec: spec, runner: driver}
}

// roster keeps the elections that a rollout moves. Its methods may be called from any
// goroutine.
type roster struct {
	mu sync.Mutex
	// own is the election whose leader drives rollouts; all returns it first. others are the
	// elections of the configuration.
	own, others []election.Spec
	changed     chan struct{} // closed when set replaces others
	// scoped are the elections of scope: revision, which no rollout moves.
	scoped []election.Spec
}

func newRoster() *roster { return &roster{changed: make(chan struct{})} }

// all returns the present elections, and a channel that is closed when they change.
func (r *roster) all() ([]election.Spec, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(r.own, r.others), r.changed
}

// locking returns the present elections that have locks, whether a rollout moves them or not.
func (r *roster) locking() []election.Spec {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Concat(r.own, r.others, r.scoped), func(e election.Spec) bool { return e.Disabled })
}

// set replaces the elections of the configuration with those of a plan, all in one step.
func (r *roster) set(p *plan) {
	others, scoped := p.moved()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scoped = scoped
	if slices.EqualFunc(r.others, others, same) {
		return
	}
	r.others = others
	close(r.changed)
	r.changed = make(chan struct{})
}

// same says whether two elections look the same to a rollout. It compares stores by identity, since
// their contents belong to the managers that use them.
func same(a, b election.Spec) bool {
	if (a.MigrateFrom == nil) != (b.MigrateFrom == nil) || a.MigrateFrom != nil && *a.MigrateFrom != *b.MigrateFrom {
		return false
	}
	if !reflect.DeepEqual(a.Policy, b.Policy) {
		return false
	}
	a.MigrateFrom, b.MigrateFrom, a.Policy, b.Policy = nil, nil, nil, nil
	return a == b
}
