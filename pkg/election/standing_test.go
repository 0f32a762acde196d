package election_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// standing lists the elections for which the member publishes that it is not in good standing.
func (g *group) standing(member string) []string {
	return g.realm.Read(slot(member)).Record.Member.Standing
}

// late adds an election to a member with a runner of its own.
func (m *member) late(t *testing.T, name string, runner election.Runner) *election.Status {
	t.Helper()
	status, err := m.manager.Add(election.Spec{Name: name}, runner)
	if err != nil {
		t.Fatal(err)
	}
	m.status[name] = status
	return status
}

// TestFailuresLowerTheStanding checks rule no-flapping: a member whose runner failed says so in its
// session for standDown, doubling. Meanwhile the holder does not drain for it, though it is of the
// preferred revision. After that the lock comes back without further help.
func TestFailuresLowerTheStanding(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		m1 := g.join("m1", "canary", canary)
		fails := election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
			select {
			case <-ctx.Done():
				return nil
			case <-clock.NewTimer(10 * time.Second).C:
				return errors.New("bad luck")
			}
		})
		changes := m1.late(t, "a", fails).Watch(t.Context())
		became := func(want machine.Role) time.Time {
			for c := range changes {
				if c.Event == election.EventRole && c.Role == want {
					return c.At
				}
			}
			t.Fatal("no more changes")
			return time.Time{}
		}
		became(machine.Leading)
		m2 := g.join("m2", "stable", canary)
		m2.late(t, "a", g.judge.runner("m2", 0))
		for _, lowered := range []time.Duration{60 * time.Second, 120 * time.Second} {
			failed := became(machine.Draining)
			after(5 * time.Second)
			g.wantLeader("a", m2, m1, m2)
			if got := g.standing("m1"); !slices.Equal(got, []string{"a"}) {
				t.Errorf("m1's session says %q", got)
			}
			// It publishes its good standing again with the next beat; preemptDelay is 2 s.
			if back := became(machine.Leading).Sub(failed); back < lowered || back > lowered+10*time.Second {
				t.Errorf("it came back after %v, want %v and a little", back, lowered)
			}
			if got := g.standing("m1"); len(got) > 0 {
				t.Errorf("m1's session says %q", got)
			}
		}
		became(machine.Draining)
		after(5 * time.Second)
		g.wantLeader("a", m2, m1, m2)
		m1.leave(t)
		m2.leave(t)
		for _, o := range g.judge.overlaps() {
			t.Error(o)
		}
	})
}

// TestGiveUp checks that a runner that gives its term up is told to stop by the end of its grace. The
// term counts as over at once, nothing extends it, and the member stands down once the runner has
// returned.
func TestGiveUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		m1 := g.join("m1", "stable", stable)
		var stop election.Stop
		var left time.Duration
		status := m1.late(t, "a", election.RunnerFunc(func(ctx context.Context, term election.Term) error {
			time.Sleep(20 * time.Second)
			term.GiveUp("enough")
			stop, _ = election.StopOf(ctx)
			left = time.Duration(stop.By - g.clock.Now())
			if term.Valid() != nil {
				t.Error("a term that was given up is valid")
			}
			before, _ := term.Deadline()
			time.Sleep(4 * time.Second)
			if later, _ := term.Deadline(); later != before {
				t.Error("a term that was given up was extended")
			}
			term.GiveUp("twice")
			if again, _ := election.StopOf(ctx); again != stop {
				t.Errorf("the stop changed from %v to %v", stop, again)
			}
			return nil
		}))
		after(38 * time.Second) // led since 15 to 17 s, given up at 35 to 37 s
		if holder := g.realm.Read("a").Record.Holder; !strings.HasPrefix(holder, "m1_") || status.IsLeader() {
			t.Errorf("held by %q, leads %v", holder, status.IsLeader())
		}
		after(4 * time.Second)
		if stop.Reason != "enough" || left != 5*time.Second {
			t.Errorf("told %+v, with %v left", stop, left)
		}
		if holder := g.realm.Read("a").Record.Holder; holder != "" || !slices.Equal(g.standing("m1"), []string{"a"}) {
			t.Errorf("held by %q, standing %q", holder, g.standing("m1"))
		}
		m1.leave(t)
		if len(m1.aborted) > 0 {
			t.Error(<-m1.aborted)
		}
		term, _ := election.NewTerm(election.Term{}, 0)
		term.GiveUp("nobody listens")
	})
}

// readied is a runner that is ready when the test says so.
type readied struct {
	election.Runner
	say chan error
}

func (r *readied) Readiness(ctx context.Context, report func(error)) error {
	for {
		select {
		case problem := <-r.say:
			report(problem)
		case <-ctx.Done():
			return nil
		}
	}
}

var errUnready = errors.New("no data yet")

// TestNobodyDrainsForWhoIsNotReady checks that a member whose runner is not ready says so, and no holder
// drains for it; once it is ready the lock moves. A running term goes on, whatever the runner reports.
func TestNobodyDrainsForWhoIsNotReady(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "other")
		m1 := g.join("m1", "stable", canary)
		m1.late(t, "a", g.judge.runner("m1", 0))
		after(20 * time.Second)
		m2 := g.join("m2", "canary", canary)
		runner := &readied{g.judge.runner("m2", 0), make(chan error)}
		m2.late(t, "a", runner)
		after(time.Minute) // it has not reported anything
		g.wantLeader("other", m2, m1, m2)
		for _, problem := range []error{nil, errUnready, errUnready} {
			g.wantLeader("a", m1, m1, m2)
			if got := g.standing("m2"); !slices.Equal(got, []string{"a"}) {
				t.Errorf("m2's session says %q", got)
			}
			if problem == nil {
				break
			}
			runner.say <- problem
			after(time.Minute)
		}
		runner.say <- nil
		after(10 * time.Second)
		g.wantLeader("a", m2, m1, m2)
		if got := g.standing("m2"); len(got) > 0 {
			t.Errorf("m2's session says %q", got)
		}
		runner.say <- errUnready
		after(time.Minute)
		g.wantLeader("a", m2, m1, m2)
		m1.leave(t)
		m2.leave(t)
		g.verdict(4)
	})
}

// TestReadyOnesComeFirst checks that among equals the ready one is nominated, and comes first after a
// death, by its own count and by everybody else's. But a member that is not ready takes what no other
// takes.
func TestReadyOnesComeFirst(t *testing.T) {
	for _, dies := range []string{"leaves", "dies"} {
		inBubble(t, func(t *testing.T) {
			const elections = 12 // by lot, each member would get some
			g := newGroup(t)
			var members []*member
			var runners []*readied
			for _, name := range []string{"m1", "m2", "m3"} {
				m := g.join(name, "stable", stable)
				for e := range elections {
					r := &readied{g.judge.runner(name, 0), make(chan error)}
					runners = append(runners, r)
					m.late(t, string(rune('a'+e)), r)
				}
				members = append(members, m)
				if name == "m1" {
					after(20 * time.Second) // it takes all, ready or not
					for e := range elections {
						g.wantLeader(string(rune('a'+e)), m, m)
					}
				}
			}
			for _, r := range runners[:2*elections] {
				r.say <- nil // m1 and m2 are ready, m3 is not
			}
			after(10 * time.Second)
			if dies == "dies" {
				members[0].store.On(memory.Put, memory.Reject(lock.ErrUnknown))
				members[0].store.On(memory.Get, memory.Reject(lock.ErrUnknown))
			} else {
				members[0].leave(t)
			}
			after(time.Minute)
			for e := range elections {
				g.wantLeader(string(rune('a'+e)), members[1], members[1:]...)
			}
			members[1].leave(t)
			after(time.Minute)
			for e := range elections {
				g.wantLeader(string(rune('a'+e)), members[2], members[2:]...)
			}
			members[2].leave(t)
			if dies == "dies" {
				members[0].leave(t) // no request gets through, so it abandons its session
			}
			for _, o := range g.judge.overlaps() {
				t.Error(o)
			}
		})
	}
}

// TestReadinessAcrossIncarnations checks that a runner's report of its readiness outlives an incarnation,
// and ends with the election.
func TestReadinessAcrossIncarnations(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		m1 := g.join("m1", "stable", stable)
		ended := make(chan struct{})
		runner := &readied{g.judge.runner("m1", 0), make(chan error)}
		m1.late(t, "a", leaves{runner, ended})
		runner.say <- errUnready
		after(20 * time.Second)
		g.wantLeader("a", m1, m1)
		g.realm.Delete(slot("m1"))
		after(time.Minute)
		if got := g.standing("m1"); !slices.Equal(got, []string{"a"}) {
			t.Errorf("m1's session says %q", got)
		}
		if err := m1.manager.Remove(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		<-ended
		synctest.Wait()
		after(10 * time.Second)
		if got := g.standing("m1"); len(got) > 0 {
			t.Errorf("m1's session says %q", got)
		}
		m1.leave(t)
	})
}

// leaves tells when its Readiness has returned.
type leaves struct {
	*readied
	ended chan struct{}
}

func (l leaves) Readiness(ctx context.Context, report func(error)) error {
	defer close(l.ended)
	return l.readied.Readiness(ctx, report)
}

// TestWhoLeavesDoesNotStandAgain checks that a leaver that is not ready for an election does not look
// ready once it drops the election: the election's holder would drain for a member that is gone.
func TestWhoLeavesDoesNotStandAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "other")
		g.bend = func(c *election.Config, _ *election.Spec) { c.Timing, _ = record.Profile("fast") }
		m1 := g.join("m1", "stable", stable)
		m1.late(t, "a", g.judge.runner("m1", 0))
		after(20 * time.Second)
		m2 := g.join("m2", "canary", stable)
		m2.late(t, "a", &readied{g.judge.runner("m2", 0), make(chan error)}) // never says that it is ready
		after(20 * time.Second)
		for _, m := range []*member{m1, m2} {
			m.prefs.values <- canary // not before m2 has said that it does not stand for a
		}
		after(time.Minute)
		g.wantLeader("other", m2, m1, m2)
		g.wantLeader("a", m1, m1, m2)
		before := m1.status["a"].Cycle()
		m1.store.On(memory.Put, memory.Delay(10*time.Millisecond))
		m2.store.On(memory.Put, memory.Delay(3*time.Millisecond))
		m2.leave(t)
		after(5 * time.Second)
		if m1.status["a"].Cycle() != before {
			t.Error("m1 stopped its work on a for a member that leaves")
		}
		m1.leave(t)
	})
}
