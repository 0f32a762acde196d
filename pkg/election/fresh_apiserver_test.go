package election_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	inner "github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock/configmap"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// newcomer is a member on the real API server, and what it logs.
type newcomer struct {
	*testing.T
	manager *election.Manager
	logs    *observer.ObservedLogs
	began   map[string]chan time.Time
	stop    context.CancelFunc
	done    chan error
}

// joins starts a member with the default bootstrap.
func joins(t *testing.T, cluster *devcluster.Cluster, namespace, name string, entries ...election.Spec) *newcomer {
	t.Helper()
	client, err := lease.NewClient(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	timing, err := record.Profile("fast")
	if err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zapcore.InfoLevel)
	m := &newcomer{T: t, logs: logs, began: map[string]chan time.Time{}, done: make(chan error, 1)}
	if m.manager, err = election.NewManager(election.Config{
		Group: "edge", Host: name, Member: election.Member{Revision: "stable"}, Locks: lease.In(client, namespace),
		Timing: timing, Log: zap.New(core),
	}); err != nil {
		t.Fatal(err)
	}
	for _, s := range entries {
		m.add(s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	m.stop = cancel
	go func() { m.done <- m.manager.Run(ctx) }()
	return m
}

func (m *newcomer) add(s election.Spec) {
	m.Helper()
	began := make(chan time.Time, 1)
	m.began[s.Name] = began
	if _, err := m.manager.Add(s, election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
		select {
		case began <- time.Now():
		default: // a later term, on a machine that stood still for a lease
		}
		<-ctx.Done()
		return nil
	})); err != nil {
		m.Fatal(err)
	}
}

// leads waits until the member works in the election, and returns when it began.
func (m *newcomer) leads(election string) time.Time {
	m.Helper()
	select {
	case at := <-m.began[election]:
		return at
	case <-clock.NewTimer(time.Minute).C:
		m.Fatalf("nobody leads %s", election)
		return time.Time{}
	}
}

func (m *newcomer) leaves() {
	m.Helper()
	m.stop()
	if err := <-m.done; err != nil {
		m.Error(err)
	}
}

// watchedSince is since when, by the member's log, its watch had shown that the lock was absent.
func (m *newcomer) watchedSince(election string) time.Time {
	m.Helper()
	for _, line := range m.logs.FilterMessage("leading").All() {
		fields := line.ContextMap()
		if fields["election"] == election && fields["because"] == "the lock is new, and the watch had shown that it was absent" {
			return line.Time.Add(-fields["after"].(time.Duration))
		}
	}
	m.Fatalf("%s does not lead because its lock was watched: %v", election, m.logs.FilterMessage("leading").All())
	return time.Time{}
}

// saidToWait says whether the member logged that the new lock of the election is waited out.
func (m *newcomer) saidToWait(election string) bool {
	for _, line := range m.logs.FilterMessage(inner.WaitsForNew).All() {
		for _, name := range line.ContextMap()["elections"].([]any) {
			if name == election {
				return true
			}
		}
	}
	return false
}

// TestFreshLockOfAnAddedElection adds an election to a member whose watch is older than the longest wait. The
// wait for its new lock began before the election was added, and was over (rule absence-counts).
func TestFreshLockOfAnAddedElection(t *testing.T) {
	cluster := devcluster.Start(t)
	start := time.Now()
	m := joins(t, cluster, cluster.Namespace(t), "m1", election.Spec{Name: "first"})
	first := m.leads("first")
	t.Logf("first term on a fresh lock from a cold start: %v", first.Sub(start).Round(time.Millisecond))
	if !m.saidToWait("first") {
		t.Error("the log does not say how long a new lock is waited out")
	}
	added := time.Now()
	m.add(election.Spec{Name: "second"})
	began := m.leads("second")
	t.Logf("first term on the fresh lock of an election that a running member is given: %v", began.Sub(added).Round(time.Millisecond))
	if since := m.watchedSince("second"); since.After(added) {
		t.Errorf("the wait began %v after the election was added", since.Sub(added))
	}
	if m.saidToWait("second") {
		t.Error("the new lock of the added election was waited out")
	}
	m.leaves()
}

// TestFreshLockOfAMigration moves an election to a lock that does not exist yet. The member has watched the new
// lock be absent while another one led by the old lock (rule absence-counts).
func TestFreshLockOfAMigration(t *testing.T) {
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	maps, err := configmap.NewClient(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	old := election.LockRef{Lock: "old", Locks: configmap.In(maps, namespace)}
	before := joins(t, cluster, namespace, "m1", election.Spec{Name: "moved", Lock: old.Lock, Locks: old.Locks})
	before.leads("moved")
	m := joins(t, cluster, namespace, "m2", election.Spec{Name: "moved", Lock: "new", MigrateFrom: &old}, election.Spec{Name: "other"})
	m.leads("other") // by now it has watched for the longest wait
	left := time.Now()
	before.leaves()
	began := m.leads("moved")
	t.Logf("first term on the fresh lock of a migration, from the moment at which the holder of the old lock was told to leave: %v", began.Sub(left).Round(time.Millisecond))
	if since := m.watchedSince("moved"); since.After(left) {
		t.Errorf("the wait began %v after the holder of the old lock left", since.Sub(left))
	}
	m.leaves()
}
