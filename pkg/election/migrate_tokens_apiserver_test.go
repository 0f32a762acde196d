package election_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock/configmap"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
)

// TestTokensRiseOverMovesOnTheAPIServer moves an election from a Lease to a ConfigMap and back on the
// real API server, with nobody leading in between. It checks that the tokens rise all the same.
func TestTokensRiseOverMovesOnTheAPIServer(t *testing.T) {
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	leases, err := lease.NewClient(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	maps, err := configmap.NewClient(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	own := lease.In(leases, namespace)
	manager, err := election.NewManager(election.Config{
		Group: "edge", Host: "m1", Member: election.Member{Revision: "stable"}, Locks: own, Log: zap.NewNop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- manager.Run(ctx) }()

	j := newJudge()
	locks := [2]election.LockRef{{Lock: "e", Locks: own}, {Lock: "e", Locks: configmap.In(maps, namespace)}}
	has := func(lock int, from *election.LockRef) {
		t.Helper()
		spec := election.Spec{Name: "e", Lock: "e", Locks: locks[lock].Locks, MigrateFrom: from, Bootstrap: machine.BootstrapImmediate}
		if err := manager.Apply(put(election.Entry{Spec: spec, Runner: j.runner("m1", 0)})); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 6 { // the first two make the locks
		has(n%2, nil)
		select {
		case <-j.begun:
		case <-clock.NewTimer(time.Minute).C:
			t.Fatal("nobody leads")
		}
		has(1-n%2, &locks[n%2])
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, o := range j.overlaps() {
		t.Error(o)
	}
}
