package election_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// In these tests a stranger edits what decides how long others leave a lock alone whose terms fail open.

// raise raises the beat of a member's session.
func raise(g *group, name string) {
	g.realm.Edit(slot(name), func(o *codec.Object) { o.Annotations[codec.BeatAnnotation] = "1000000" })
}

// TestARaisedSessionBeforeItsTerm: what the session says with later beats still counts, so nobody takes the lock from a holder that fails open.
func TestARaisedSessionBeforeItsTerm(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.failsOpen()
		m2 := g.join("m2", "stable", stable)
		after(40 * time.Second)
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		m3 := g.join("m3", "canary", stable)
		after(40 * time.Second)
		raise(g, "m1")
		after(20 * time.Second)
		m2.leave(t)
		after(time.Minute)
		g.wantLeader("a", m1, m1, m3)
		m1.store.On(memory.Put, memory.Named("a", memory.Hang()))
		after(2 * time.Minute)
		leadsOn(t, m1)
		m1.store.Heal()
		after(time.Minute)
		g.end(m1, m3)
	})
}

// TestARaisedSessionDuringItsTerm: once the term has ended, another member takes the lock.
func TestARaisedSessionDuringItsTerm(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		g.failsOpen()
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		m2 := g.join("m2", "stable", stable)
		after(40 * time.Second)
		raise(g, "m1")
		after(20 * time.Second)
		m1.store.On(memory.Put, memory.Named("a", refused))
		after(2 * time.Minute)
		g.wantLeader("a", m2, m1, m2)
		m1.store.Heal()
		after(time.Minute)
		g.end(m1, m2)
	})
}

// TestARaisedBeatOfALoneHolder: the record bears our name and a beat that we never wrote, so our term ends. Nobody else is there to take
// the lock: we do.
func TestARaisedBeatOfALoneHolder(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		g.failsOpen()
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		g.wantLeader("a", m1, m1)
		g.editMark(`"beat":\d+`, `"beat":100000`)
		after(2 * time.Minute)
		g.wantLeader("a", m1, m1)
		g.end(m1)
	})
}

// editMark edits the mark of the lock a.
func (g *group) editMark(what, to string) {
	g.realm.Edit("a", func(o *codec.Object) {
		o.Annotations[codec.HolderAnnotation] = regexp.MustCompile(what).ReplaceAllString(o.Annotations[codec.HolderAnnotation], to)
	})
}

// TestAHolderOfAnotherGroup: the holder lives in another group, and its writes of the lock are refused, which ends its term, or hang. What
// its session lists decides.
func TestAHolderOfAnotherGroup(t *testing.T) {
	t.Run("refused", func(t *testing.T) { aHolderOfAnotherGroup(t, refused, false) })
	t.Run("hang", func(t *testing.T) { aHolderOfAnotherGroup(t, memory.Hang(), true) })
}

func aHolderOfAnotherGroup(t *testing.T, trouble memory.Hook, keeps bool) {
	t.Helper()
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a").byRecord()
		g.failsOpen()
		open, of := g.bend, "core"
		g.bend = func(c *election.Config, s *election.Spec) {
			open(c, s)
			c.Group = of
		}
		m1 := g.join("m1", "stable", stable)
		after(40 * time.Second)
		of = "edge"
		m2 := g.join("m2", "stable", stable)
		after(40 * time.Second)
		m1.store.On(memory.Put, memory.Named("a", trouble))
		after(2 * time.Minute)
		leader := m2
		if keeps {
			leader = m1
		}
		g.wantLeader("a", leader, m1, m2)
		m1.store.Heal()
		after(time.Minute)
		m1.leave(t)
		m2.leave(t)
	})
}

// TestADeadHolderWithSlowBeats: the session of the dead holder beat less often than ours. It may have extended its term until its next beat.
func TestADeadHolderWithSlowBeats(t *testing.T) {
	for trial := range 24 {
		inBubble(t, func(t *testing.T) {
			slow := profile("default")
			slow.LeaseDuration, slow.RenewInterval, slow.StopGrace = 60*time.Second, 20*time.Second, 15*time.Second
			g := newGroup(t, "a")
			g.failsOpen()
			open, timing := g.bend, slow
			g.bend = func(c *election.Config, s *election.Spec) {
				open(c, s)
				c.Timing, s.Timing = timing, record.Timing{}
			}
			m1 := g.join("m1", "stable", stable)
			after(130 * time.Second)
			timing = profile("default")
			all := []*member{m1, g.join("m2", "stable", stable), g.join("m3", "stable", stable)}
			after(2 * time.Minute)
			g.wantLeader("a", m1, all...)
			m1.store.On(memory.Put, memory.Named("a", memory.Hang()))
			after(4*time.Minute + time.Duration(trial)*800*time.Millisecond)
			g.dies(m1, all, fmt.Sprint("trial ", trial), lapses)
		})
	}
}

// TestAnEditedDurationOfADeadHolder checks rule observers-clock for a lock whose terms fail open: a stranger edits how long the dead holder's
// session lasts, before a new member sees it. That member does not wait for as long.
func TestAnEditedDurationOfADeadHolder(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		others := profile("default")
		others.LeaseDuration = 20 * time.Second
		g, all := failingOpen(t, profile("default"), others)
		died := time.Now()
		g.dies(all[0], all[:1], "m1", func(g *group) *member {
			g.realm.Edit(slot("m1"), func(o *codec.Object) {
				was := o.Annotations[codec.HolderAnnotation]
				o.Annotations[codec.HolderAnnotation] = regexp.MustCompile(`"durationSeconds":\d+`).ReplaceAllString(was, `"durationSeconds":3000`)
			})
			for _, m := range all[1:] {
				m.leave(t)
			}
			return g.join("m4", "stable", stable)
		})
		if waited := time.Since(died); waited > 3*time.Minute {
			t.Errorf("it is over after %v", waited)
		}
	})
}
