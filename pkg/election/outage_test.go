package election_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

var update = flag.Bool("update", false, "write what members do now into testdata/*.txt")

func failsOpen(_ *election.Config, s *election.Spec) { s.Outage.Mode = machine.OutageFailOpen }

// away makes the store unreachable for a member: requests fail at once instead of hanging.
func away(m *member) {
	gone := fmt.Errorf("%w: connection refused", lock.ErrUnknown)
	for _, op := range []memory.Op{memory.Get, memory.Put, memory.List, memory.Watch} {
		m.store.On(op, memory.Reject(gone))
	}
	m.store.CutWatches()
}

// atRenewal calls f right after a member's next renewal of an election was committed.
func atRenewal(m *member, election string, f func()) {
	done := make(chan struct{})
	m.store.On(memory.Put, memory.Named(election, memory.Once(func(_ context.Context, _ memory.Call, op func() error) error {
		err := op()
		close(done)
		return err
	})))
	<-done
	synctest.Wait()
	f()
}

// show describes a member's part in an election in a word.
func show(s *election.Status) string {
	switch {
	case s.FailingOpen():
		return "leads, failing open"
	case s.InJeopardy():
		return "leads, in jeopardy"
	case s.IsLeader():
		return "leads"
	}
	return "-"
}

// TestOutage takes the API server away for 3 x leaseDuration. testdata/outage_*.txt lists what each
// member does, second by second. Regenerate with -update, and read it.
func TestOutage(t *testing.T) {
	for name, mode := range map[string]machine.Outage{
		"stop":             {Mode: machine.OutageStop},
		"failopen":         {Mode: machine.OutageFailOpen},
		"failopen_bounded": {Mode: machine.OutageFailOpen, For: 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				var out strings.Builder
				fmt.Fprintf(&out, "# outage: %s. The store is away from 0 s, right after a renewal, to 45 s.\n", name)
				g := newGroup(t, "a").byRecord()
				g.bend = func(_ *election.Config, s *election.Spec) { s.Outage = mode }
				m1 := g.join("m1", "stable", stable)
				after(40 * time.Second)
				m2, m3 := g.join("m2", "stable", stable), g.join("m3", "stable", stable)
				all := []*member{m1, m2, m3}
				after(10 * time.Second)
				atRenewal(m1, "a", func() {
					for _, m := range all {
						away(m)
					}
				})
				for s := range 46 {
					fmt.Fprintf(&out, "%2d s", s)
					for _, m := range all {
						fmt.Fprintf(&out, "  %s: %s", m.name, show(m.status["a"]))
					}
					fmt.Fprintln(&out)
					if s < 45 {
						after(time.Second)
					}
				}
				for _, m := range all {
					m.store.Heal()
				}
				after(25 * time.Second)
				fmt.Fprintf(&out, "70 s  %d of them leads", len(leaders(all...)["a"])) // which one is chance
				if m1.status["a"].IsLeader() && m1.status["a"].Cycle() == 1 {
					fmt.Fprint(&out, ": m1, still in its first term")
				}
				fmt.Fprintln(&out)
				for _, m := range all {
					m.leave(t)
				}
				for _, o := range g.judge.overlaps() {
					t.Error(o)
				}
				golden(t, "testdata/outage_"+name+".txt", out.String())
			})
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s says something else (regenerate with -update):\n%s", file, got)
	}
}

// TestFailingOpenEndsAtFirstSight checks that a member that fails open stops as soon as it sees that
// another one took the lock; neither its supervisor nor its process dies.
func TestFailingOpenEndsAtFirstSight(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		g.stop = 2 * time.Second
		g.bend = failsOpen
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(10 * time.Second)
		seen := m1.status["a"].Watch(t.Context())
		away(m1)
		after(30 * time.Second)
		if !m1.status["a"].FailingOpen() || !m2.status["a"].IsLeader() {
			t.Error("both should lead now: that is the price")
		}
		m1.store.Heal()
		for tr := range seen {
			if tr.Event == election.EventLost {
				break
			}
		}
		if m1.status["a"].IsLeader() || m1.status["a"].FailingOpen() {
			t.Error("it leads on")
		}
		after(10 * time.Second)
		g.wantLeader("a", m2, m1, m2)
		select {
		case err := <-m1.aborted:
			t.Errorf("aborted: %v", err)
		default:
		}
		m1.leave(t)
		m2.leave(t)
	})
}

// TestRangeFailsOpen checks that the range of a term that fails open grows with the clock.
func TestRangeFailsOpen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		g.bend = func(c *election.Config, s *election.Spec) { failsOpen(c, s); ranged(c, s) }
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		start, _, _ := m1.status["a"].Range()
		away(m1)
		after(60 * time.Second)
		status := m1.status["a"]
		now := time.Now()
		if start2, end, ok := status.Range(); !ok || !start2.Equal(start) || !end.Equal(now) || !status.InRange(now) || status.InRange(now.Add(1)) {
			t.Errorf("range [%v, %v] %v at %v, which began at %v", start2, end, ok, now, start)
		}
		m1.store.Heal()
		after(10 * time.Second)
		if start2, end, ok := status.Range(); !ok || !start2.Equal(start) || status.Cycle() != 1 || end.Before(time.Now()) {
			t.Errorf("range [%v, %v] %v in term %d after the outage", start2, end, ok, status.Cycle())
		}
		m1.leave(t)
	})
}

// TestHolderDoesNotComeBack checks that if the holder does not come back after an outage, another member
// takes the lock.
func TestHolderDoesNotComeBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		g.bend = failsOpen
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(10 * time.Second)
		away(m1)
		away(m2)
		after(45 * time.Second)
		m2.store.Heal()
		after(4 * time.Second)
		if m2.status["a"].IsLeader() {
			t.Error("it does not leave the holder the time to come back")
		}
		after(20 * time.Second) // 11 s of it are in case a dead holder's work still goes on
		if !m2.status["a"].IsLeader() {
			t.Error("nobody leads")
		}
		m1.store.Heal()
		after(5 * time.Second)
		g.wantLeader("a", m2, m1, m2)
		m1.leave(t)
		m2.leave(t)
	})
}
