package election_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestHolderIsFirstAfterAnOutage checks that after an outage that hit all members, the holder of an
// election that fails open writes first, even if the election's timing is slower than that of the
// members' sessions.
func TestHolderIsFirstAfterAnOutage(t *testing.T) {
	for trial := range 40 {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a")
			g.stop = 2 * time.Second
			g.bend = func(_ *election.Config, s *election.Spec) {
				s.Timing = profile("relaxed")
				s.Outage = machine.Outage{Mode: machine.OutageFailOpen, For: machine.OutageUnbounded}
			}
			m1 := g.join("m1", "stable", stable)
			after(200 * time.Second)
			all := []*member{m1, g.join("m2", "stable", stable), g.join("m3", "stable", stable)}
			after(40 * time.Second)
			for _, m := range all {
				away(m)
			}
			after(600*time.Second + time.Duration(trial)*1700*time.Millisecond)
			if !m1.status["a"].FailingOpen() {
				t.Error("m1 does not fail open")
			}
			for _, m := range all {
				m.store.Heal()
			}
			after(60 * time.Second)
			if !m1.status["a"].IsLeader() || m1.status["a"].Cycle() != 1 {
				t.Errorf("trial %d: another took the lock", trial)
			}
			g.end(all...)
		})
	}
}

// TestElectionIsGivenUpInAnOutage gives an election up while the store is away, so its lock cannot be
// released. It checks that this does not end the term of another election that fails open, neither then
// nor when the store is back.
func TestElectionIsGivenUpInAnOutage(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "open", "other")
		g.differ = func(s *election.Spec) {
			if s.Name == "open" {
				s.Outage = machine.Outage{Mode: machine.OutageFailOpen, For: machine.OutageUnbounded}
			}
		}
		m1 := g.join("m1", "stable", stable)
		after(60 * time.Second)
		away(m1)
		after(time.Second)
		given := make(chan error, 1)
		go func() { given <- m1.manager.Remove(t.Context(), "other") }()
		after(2 * time.Minute)
		if s := m1.status["open"]; !s.FailingOpen() || s.Cycle() != 1 {
			t.Errorf("fails open: %v, cycle %d", s.FailingOpen(), s.Cycle())
		}
		m1.store.Heal()
		if err := <-given; err != nil {
			t.Error(err)
		}
		if !g.realm.Read("other").Record.Released() {
			t.Error("the lock that was given up is not released")
		}
		after(time.Minute)
		if s := m1.status["open"]; !s.IsLeader() || s.Cycle() != 1 {
			t.Errorf("leads: %v, cycle %d", s.IsLeader(), s.Cycle())
		}
		g.end(m1)
	})
}

// TestSilenceHoldsForEveryStore checks that, while the store of the sessions does not answer, members do
// not take locks in another store either: nothing in the other store itself shows the outage.
func TestSilenceHoldsForEveryStore(t *testing.T) {
	for trial := range 4 {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a")
			var stores []*memory.Store
			g.bend = func(_ *election.Config, s *election.Spec) {
				other := byName{g.realm.Store()}
				stores = append(stores, other.Store)
				s.Locks, s.Lock = other, "other"
				s.Outage = machine.Outage{Mode: machine.OutageFailOpen, For: machine.OutageUnbounded}
			}
			m1 := g.join("m1", "stable", stable)
			after(40 * time.Second)
			all := []*member{m1, g.join("m2", "stable", stable), g.join("m3", "stable", stable)}
			after(20*time.Second + time.Duration(trial)*700*time.Millisecond)
			back := make(chan struct{})
			for _, m := range all {
				stores = append(stores, m.store)
			}
			for i, s := range stores {
				for _, op := range []memory.Op{memory.Get, memory.Put, memory.List, memory.Watch, memory.Deliver} {
					s.On(op, frozen(back, rand.New(rand.NewPCG(uint64(trial), uint64(i)))))
				}
			}
			after(17 * time.Second) // longer than the lock lasts, but shorter than the time after which a watch counts as silent
			for _, s := range stores {
				s.Heal()
			}
			close(back)
			after(30 * time.Second)
			if !m1.status["a"].IsLeader() || m1.status["a"].Cycle() != 1 {
				t.Errorf("trial %d: another took the lock", trial)
			}
			g.end(all...)
		})
	}
}

// TestWhoLeavesSparesWhoFailsOpen checks that a member that gives up in an outage, because it sees
// nothing, does not end the session of a member whose term fails open: the outage lasted just as long for
// both.
func TestWhoLeavesSparesWhoFailsOpen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "open")
		g.differ = func(s *election.Spec) {
			if s.Name == "open" {
				s.Outage = machine.Outage{Mode: machine.OutageFailOpen, For: machine.OutageUnbounded}
			}
		}
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		g.names = []string{"open", "s"}
		m2 := g.join("m2", "stable", stable)
		after(40 * time.Second)
		if !m2.status["s"].IsLeader() {
			t.Fatal("m2 does not lead s")
		}
		away(m1)
		for _, op := range []memory.Op{memory.Put, memory.Get, memory.Deliver} {
			m2.store.On(op, memory.Hang())
		}
		beats := session.Prefix("edge") + "m2-0" // its beats are stored, but it does not see them
		m2.store.On(memory.Put, exceptFor(beats, memory.Lose(), memory.Hang()))
		m2.store.On(memory.Get, exceptFor(beats, memory.Delay(0), memory.Hang()))
		after(33 * time.Second)
		m2.store.Heal()
		m2.store.On(memory.Put, memory.Named("s", memory.Hang())) // so leaving takes it a while
		after(5 * time.Second)
		m1.store.Heal()
		m2.store.Heal()
		after(time.Minute)
		if s := m1.status["open"]; !s.IsLeader() || s.Cycle() != 1 {
			t.Errorf("the term that fails open: leads: %v, cycle %d", s.IsLeader(), s.Cycle())
		}
		g.end(m1, m2)
	})
}

// exceptFor lets one hook act on calls for the name and the other hook on all others.
func exceptFor(name string, its, others memory.Hook) memory.Hook {
	return func(ctx context.Context, c memory.Call, op func() error) error {
		if c.Name == name {
			return its(ctx, c, op)
		}
		return others(ctx, c, op)
	}
}

// TestHolderIsFirstWhoseSessionIsSlower checks that the holder also gets the time for a beat of its
// session after an outage, if the session is slower than the election: a beat may be all that the holder
// can write.
func TestHolderIsFirstWhoseSessionIsSlower(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.bend = func(_ *election.Config, s *election.Spec) {
			s.Timing = profile("fast")
			s.Outage = machine.Outage{Mode: machine.OutageFailOpen, For: machine.OutageUnbounded}
		}
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(40 * time.Second)
		away(m1)
		away(m2)
		after(40 * time.Second)
		m2.store.Heal()
		// By then the last work that a holder left is over, and two intervals of the election have
		// passed, but not two of the session.
		after(8500 * time.Millisecond)
		m1.store.Heal()
		after(30 * time.Second)
		if s := m1.status["a"]; !s.IsLeader() || s.Cycle() != 1 {
			t.Errorf("leads: %v, cycle %d", s.IsLeader(), s.Cycle())
		}
		g.end(m1, m2)
	})
}

// TestAnOutageBehindAnOutage checks that the holder is first also after an outage that follows another one, which was too short for
// the others to notice: it swallowed the holder's first write, and the next one comes when the second outage has begun.
func TestAnOutageBehindAnOutage(t *testing.T) {
	for trial := range 16 {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a").byRecord()
			g.bend = func(c *election.Config, s *election.Spec) {
				c.Timing, s.Timing = profile("fast"), profile("fast")
				s.Outage = machine.Outage{Mode: machine.OutageFailOpen, For: machine.OutageUnbounded}
			}
			m1 := g.join("m1", "stable", stable)
			after(40 * time.Second)
			m2 := g.join("m2", "stable", stable)
			after(40 * time.Second)
			silent := func(m *member) {
				m.store.On(memory.Put, memory.Hang())
				m.store.On(memory.Get, memory.Hang())
			}
			atRenewal(m1, "a", func() { silent(m1) })
			good := 2200*time.Millisecond + time.Duration(trial)*100*time.Millisecond
			after(good)
			silent(m2) // since the holder's last write it has shown for two intervals that the store is there, and not for four
			after(4980*time.Millisecond - good)
			m2.store.Heal()    // the lock looks expired before m2 has a beat again
			after(time.Second) // the holder's request hangs for so long
			m1.store.Heal()
			after(30 * time.Second)
			if s := m1.status["a"]; !s.IsLeader() || s.Cycle() != 1 {
				t.Errorf("trial %d: leads: %v, cycle %d", trial, s.IsLeader(), s.Cycle())
			}
			g.end(m1, m2)
		})
	}
}

// TestWorkOfAFailOpenTermIsListedWhileItStops keeps one member from writing its lock, while its session
// goes on. It checks that nobody works beside its term that fails open, nor beside the work that still
// stops when the term's time is over. Then another member leads.
func TestWorkOfAFailOpenTermIsListedWhileItStops(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		g.stop = 3 * time.Second
		g.bend = func(_ *election.Config, s *election.Spec) {
			s.Outage = machine.Outage{Mode: machine.OutageFailOpen, For: time.Minute}
		}
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(40 * time.Second)
		m1.store.On(memory.Put, memory.Named("a", memory.Hang()))
		after(50 * time.Second)
		if !m1.status["a"].FailingOpen() || m2.status["a"].IsLeader() {
			t.Errorf("m1 fails open: %v, m2 leads: %v", m1.status["a"].FailingOpen(), m2.status["a"].IsLeader())
		}
		after(50 * time.Second)
		g.wantLeader("a", m2, m1, m2)
		m1.store.Heal()
		g.end(m1, m2)
	})
}

// TestALateWatchIsNoSilence has the watch of one member show everything late, always by the same time, which is longer than a beat takes
// to be due. The holder of an election that fails open dies. It checks that the other member takes the lock: the store answers its beats.
func TestALateWatchIsNoSilence(t *testing.T) {
	for _, by := range []time.Duration{4 * time.Second, 7 * time.Second, 9 * time.Second} {
		inBubble(t, func(t *testing.T) { aLateWatch(t, by) })
	}
}

func aLateWatch(t *testing.T, shown time.Duration) {
	t.Helper()
	g := newGroup(t, "a")
	late := time.Duration(0)
	g.bend = func(c *election.Config, s *election.Spec) {
		s.Outage = machine.Outage{Mode: machine.OutageFailOpen, For: time.Second}
		by := late
		c.Locks.(*memory.Store).On(memory.Deliver, func(ctx context.Context, c memory.Call, op func() error) error {
			if c.Record == nil {
				return op()
			}
			return memory.Delay(time.Until(c.Record.Renewed.Add(by)))(ctx, c, op)
		})
	}
	m1 := g.join("m1", "stable", stable)
	after(40 * time.Second)
	g.wantLeader("a", m1, m1)
	late = shown
	m2 := g.join("m2", "stable", stable)
	after(40 * time.Second)
	hangAll(m1.store)
	after(60 * time.Second)
	g.wantLeader("a", m2, m1, m2)
	m1.store.Heal()
	g.end(m1, m2)
}

// TestNobodyWaitsForAForeignMonth has an elector that is not ours hold the lock of an election that fails open, with a duration of 30 days,
// and an operator write the release that docs/hostile-records.md prescribes. Every watch breaks and resumes: before that, after it, or
// meanwhile. It checks that a member leads within minutes. If the operator writes something else, the duration counts as an hour.
func TestNobodyWaitsForAForeignMonth(t *testing.T) {
	release := record.Record{Duration: time.Second}
	for name, when := range map[string]struct {
		before, meanwhile, later *record.Record
		leads                    time.Duration
	}{
		"before the release": {later: &release, leads: 3 * time.Minute},
		"after the release":  {before: &release, leads: 3 * time.Minute},
		"meanwhile":          {meanwhile: &release, leads: 3 * time.Minute},
		"no release":         {before: &record.Record{Duration: time.Minute}, leads: 5 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				g.bend = failsOpen
				write := func(r *record.Record) {
					t.Helper()
					if r == nil {
						return
					}
					next := *r
					next.Transitions, next.Renewed = 1, time.Now()
					if _, err := g.realm.Write("a", next, g.realm.Read("a").Version); err != nil {
						t.Fatal(err)
					}
				}
				write(&record.Record{Holder: "istiod", Duration: 30 * 24 * time.Hour})
				m1, m2 := g.join("m1", "stable", stable), g.join("m2", "stable", stable)
				after(time.Minute)
				write(when.before)
				after(time.Second)
				away(m1)
				away(m2)
				after(time.Minute)
				write(when.meanwhile)
				m1.store.Heal()
				m2.store.Heal()
				after(time.Minute)
				write(when.later)
				after(when.leads)
				if led := leaders(m1, m2)["a"]; len(led) != 1 {
					t.Errorf("led by %v: %+v", led, g.realm.Read("a").Record)
				}
				g.end(m1, m2)
			})
		})
	}
}
