package app

import (
	"reflect"
	"slices"
	"sync"

	"go.uber.org/zap"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/revisions/controller"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check/all"
)

// longestName is that of an election: its name is a label too.
const longestName = 63

// controller is the election in which rollouts are driven, ready to be added; nil where the
// name of the group leaves no room for it.
func (m *member) controller(maps coreclient.ConfigMapsGetter) *planned {
	group := m.process.Group
	name := controller.ElectionName(group)
	if len(name) > longestName {
		m.log.Warn("the name of the group is too long for an election in which rollouts are driven (55 characters are allowed)", zap.String("election", name))
		return nil
	}
	locks := m.planner.locks.of(config.DefaultLockKind, config.SharedWithNobody)
	driver := controller.New(controller.Config{
		Group: group, Sessions: locks, Timing: m.process.Configuration.Timing, Elections: m.roster.all,
		Plans: m.steering, Maps: maps.ConfigMaps(m.planner.namespace), Checks: all.Registry(), Default: m.source, Clock: m.clock, Log: m.log,
	})
	// Two controllers at a time do no harm: what they write carries their tokens.
	spec := election.Spec{Name: name, Lock: name, Locks: locks, Bootstrap: election.BootstrapImmediate}
	return &planned{spec: spec, runner: driver}
}

// roster keeps the elections that a rollout moves. Its methods may be called from any
// goroutine.
type roster struct {
	mu sync.Mutex
	// own is the election in which rollouts are driven, which comes first; others are those of
	// the configuration.
	own, others []election.Spec
	changed     chan struct{} // closed when they are no longer the last
}

func newRoster() *roster { return &roster{changed: make(chan struct{})} }

// all are the elections at present; the channel is closed when they are others.
func (r *roster) all() ([]election.Spec, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(r.own, r.others), r.changed
}

// set makes these the elections of the configuration. Nobody sees them come and go one by one.
func (r *roster) set(others []election.Spec) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.EqualFunc(r.others, others, same) {
		return
	}
	r.others = others
	close(r.changed)
	r.changed = make(chan struct{})
}

// same says whether two elections are the same for whoever moves them. Stores are told apart, not
// looked into: they belong to the managers that use them.
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
