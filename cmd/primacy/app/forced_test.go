package app

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/configmap"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// TestForcedIsDone checks that a forced handover is done once the member holds all locks that the holder had: in a migration
// it does not work with one of two.
func TestForcedIsDone(t *testing.T) {
	const before, after = "v1_00000001", "v2_00000002"
	one, two := election.ForcedHandover{Holder: before, Token: 7}, election.ForcedHandover{Holder: before, Token: 6}
	led := func(holder string, token uint64, others ...status.OtherLock) status.Election {
		return status.Election{Name: "m", State: status.Led, Holder: holder, Token: token, Others: others}
	}
	for name, tt := range map[string]struct {
		asked []election.ForcedHandover
		e     status.Election
		done  bool
	}{
		"one lock":                 {[]election.ForcedHandover{one}, led(after, 9), true},
		"still the holder":         {[]election.ForcedHandover{one}, led(before, 7), false},
		"one of two locks":         {[]election.ForcedHandover{one, two}, led(after, 9), false},
		"the other is somebody's":  {[]election.ForcedHandover{one, two}, led(after, 9, status.OtherLock{Holder: before}), false},
		"both locks":               {[]election.ForcedHandover{one, two}, led(after, 9, status.OtherLock{Holder: after}), true},
		"it does not renew either": {[]election.ForcedHandover{one}, status.Election{Name: "m", State: status.Led, Holder: after, Token: 9, Stale: true}, false},
	} {
		f := forcing{to: "v2", asked: tt.asked}
		if missing, err := f.missing(tt.e); err != nil || (missing == "") != tt.done {
			t.Errorf("%s: %q, %v; done: %v", name, missing, err, tt.done)
		}
	}
}

// TestTheLockThatDecidesIsAskedLast checks which lock of a migration gets its request last: the one that the holder took first.
func TestTheLockThatDecidesIsAskedLast(t *testing.T) {
	at := func(fraction time.Duration) time.Time { return time.Unix(1_800_000_000, 0).Add(fraction) }
	lease := func(name string, acquired time.Duration) heldLock {
		return heldLock{Ref: status.Ref{Kind: status.Lease, Name: name}, acquired: at(acquired)}
	}
	configMap := func(acquired time.Duration) heldLock {
		return heldLock{Ref: status.Ref{Kind: status.ConfigMap, Name: "map"}, acquired: at(acquired.Truncate(time.Second))}
	}
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		held [2]heldLock
		from string
		last string
	}{
		"the configuration says it":      {[2]heldLock{lease("old", 804*ms), configMap(810 * ms)}, "old", "old"},
		"in the same second":             {[2]heldLock{lease("new", 810*ms), configMap(804 * ms)}, "", "map"},
		"the Lease in an earlier second": {[2]heldLock{configMap(1001 * ms), lease("old", 999*ms)}, "", "old"},
		"the Lease in a later second":    {[2]heldLock{configMap(999 * ms), lease("new", 1001*ms)}, "", "map"},
		"two Leases":                     {[2]heldLock{lease("old", 804*ms), lease("new", 810*ms)}, "", "old"},
	} {
		for range 2 {
			slices.Reverse(tt.held[:])
			sorted := slices.Clone(tt.held[:])
			sorted[0].request.Token, sorted[1].request.Token = 7, 6 // they do not say it
			lastTakenFirst(sorted, status.Ref{Kind: status.Lease, Name: tt.from})
			if got := sorted[1].Name; got != tt.last {
				t.Errorf("%s: %s comes last, want %s", name, got, tt.last)
			}
		}
	}
}

// TestTwoAskTheSameByForce checks that a command which waited in vain takes back its own request, and none that another command made before;
// and that a command makes its own request once the other command has taken back the earlier one.
func TestTwoAskTheSameByForce(t *testing.T) {
	const holder, nominee = "old_00000001", "new_00000001"
	synctest.Test(t, func(t *testing.T) {
		realm := memory.New(clocktest.Bubble{})
		held := record.Record{
			Holder: holder, Duration: 15 * time.Second, Transitions: 1, Token: 7, Group: "edge", Election: "one",
			Mark: &record.Mark{Identity: holder, Transitions: 1, Beat: 1, Duration: 15 * time.Second, Renewal: record.RenewalRecord},
		}
		if _, err := realm.Write("one", held, record.Version{}); err != nil {
			t.Fatal(err)
		}
		led := func() status.Election {
			e := realm.Read("one")
			return status.Election{Name: "one", Group: "edge", Kind: status.Lease, Lock: "one", State: status.Led, Holder: holder, Token: uint64(e.Record.Token), ForcedTo: e.Record.HandoverTo}
		}
		var notes bytes.Buffer
		asks := func() *forcing {
			s := &steerCommand{}
			s.realm, s.notes = status.Realm{Leases: realm.Store()}, &notes
			f := &forcing{steerCommand: s, election: led(), to: "new", nominee: status.Member{Identity: nominee}}
			if err := f.ask(t.Context()); err != nil {
				t.Fatal(err)
			}
			return f
		}
		expect := func(what, want string) {
			t.Helper()
			if got := realm.Read("one").Record.HandoverTo; got != want {
				t.Errorf("%s: the holder is asked to hand over to %q, want %q", what, got, want)
			}
		}
		insists := func(f *forcing) {
			t.Helper()
			if err := f.insist(t.Context(), led()); err != nil {
				t.Error(err)
			}
		}
		first, second, third := asks(), asks(), asks()
		third.withdraw(t.Context())
		expect("the third waited in vain", nominee)
		if !strings.Contains(notes.String(), "another command made the request before, and it stays (primacy handover one --force --to old takes it back)") {
			t.Errorf("the third says %q", notes.String())
		}
		insists(second)
		first.withdraw(t.Context())
		expect("the first waited in vain", "")
		insists(first)
		expect("the first goes on to look", "")
		insists(second)
		expect("the second goes on", nominee)
		second.withdraw(t.Context())
		expect("the second waited in vain", "")
	})
}

// nominee checks whom the record of a lock names to lead next: nominee KIND LOCK REGEXP
func (s *scripts) nominee(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 3)
	leases, err := lease.NewClient(s.cluster.Config)
	ts.Check(err)
	maps, err := configmap.NewClient(s.cluster.Config)
	ts.Check(err)
	locks := map[string]lock.Store{"Lease": lease.In(leases, ts.Getenv("NS")), "ConfigMap": configmap.In(maps, ts.Getenv("NS"))}[args[0]]
	e, err := locks.Get(context.Background(), args[1])
	ts.Check(err)
	if to := e.Record.HandoverTo; !regexp.MustCompile(args[2]).MatchString(to) {
		ts.Fatalf("the record of %s %s names %q", args[0], args[1], to)
	}
}
