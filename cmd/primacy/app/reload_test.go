package app

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock/memory"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// TestReloadOfSessionTiming checks that an edit of the session timings moves no election, on any member:
// these timings belong to the process.
func TestReloadOfSessionTiming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		const before = "group: g\ntiming: {profile: fast}\nelections:\n- {name: a, bootstrap: immediate, runners: [{name: w, work: {}}]}\n- {name: b, bootstrap: immediate, runners: [{name: w, work: {}}]}\n"
		after := strings.Replace(before, "profile: fast", "profile: fast, leaseDuration: 6s", 1)
		m1, m2 := b.start("m1", before), b.start("m2", before)
		wait(20 * time.Second)
		for _, m := range []*follower{m1, m2} {
			if err := m.reload(after); err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		}
		wait(time.Minute)
		for _, e := range []string{"a", "b"} {
			if led := leaders(m1, m2)[e]; len(led) != 1 {
				t.Errorf("%s is led by %v", e, led)
			}
			if n := b.journal.stretches(e); n != 1 {
				t.Errorf("the work of %s began %d times, want 1", e, n)
			}
		}
		b.end(m1, m2)
	})
}

// TestReloadOfMember checks that a process keeps its revision: another member.revision in its file moves
// nothing.
func TestReloadOfMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		const before = "group: g\nmember: {revision: \"1-9-0\"}\ntiming: {profile: fast}\nelections:\n- {name: x, scope: revision, bootstrap: immediate, runners: [{name: w, work: {}}]}\n"
		m1 := b.start("m1", before)
		wait(20 * time.Second)
		if err := m1.reload(strings.Replace(before, "1-9-0", "1-10-0", 1)); err != nil {
			t.Error(err)
		}
		wait(time.Minute)
		if led := leaders(m1); len(led["x-1-9-0"]) != 1 || len(led) != 1 {
			t.Errorf("led: %v, want x-1-9-0 by m1", led)
		}
		b.end(m1)
	})
}

// TestReloadOfLock checks that a member refuses to exchange a lock while other members may know only the
// old one.
func TestReloadOfLock(t *testing.T) {
	for _, lock := range []string{"{name: other}", "{kind: ConfigMap}"} {
		synctest.Test(t, func(t *testing.T) {
			b := newBubble(t)
			const before = "group: g\ntiming: {profile: fast}\nelections:\n- {name: a, bootstrap: immediate, lock: {}, runners: [{name: w, work: {}}]}\n"
			m1, m2 := b.start("m1", before), b.start("m2", before)
			wait(20 * time.Second)
			if err := m1.reload(strings.Replace(before, "lock: {}", "lock: "+lock, 1)); err == nil {
				t.Errorf("lock: %s was taken in", lock)
			}
			wait(time.Minute)
			b.end(m1, m2)
		})
	}
}

// TestReloadKeepsTheRoster checks that an exchanged election stays on the roster, where a rollout counts it.
func TestReloadKeepsTheRoster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		const before = "group: g\ntiming: {profile: fast}\nelections:\n" +
			"- {name: a, bootstrap: immediate, runners: [{name: w, work: {stop: 900ms}}]}\n" +
			"- {name: b, bootstrap: immediate, runners: [{name: w, work: {stop: 900ms}}]}\n"
		m1 := b.start("m1", before)
		wait(20 * time.Second)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				all, others := m1.roster.all()
				var names []string
				for _, e := range all {
					names = append(names, e.Name)
				}
				if slices.Sort(names); !slices.Equal(names, []string{"a", "b", "rollout-g"}) {
					t.Errorf("at %v on the roster: %v", time.Since(b.began), names)
				}
				select {
				case <-others:
				case <-clock.NewTimer(10 * time.Second).C:
					return
				}
			}
		}()
		_, others := m1.roster.all()
		if err := m1.reload(strings.ReplaceAll(before, "900ms", "800ms")); err != nil {
			t.Error(err)
		}
		select {
		case <-others:
			t.Error("the roster was given anew, though it is the same")
		default:
		}
		<-ended
		b.end(m1)
	})
}

// TestJournal checks that the journal, the judge of these tests, reports an overlap if and only if two
// members did the same work at once.
func TestJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		end := b.journal.begin("w", "m1")
		wait(time.Second)
		b.journal.begin("v", "m2")()
		end()
		again := b.journal.begin("w", "m2")
		if o := b.journal.overlaps(); o != nil {
			t.Errorf("there is none: %v", o)
		}
		wait(time.Second)
		last := b.journal.begin("w", "m3")
		wait(time.Second)
		if o := b.journal.overlaps(); !slices.Equal(o, []string{"w: m2 and m3 at once from 2s on"}) {
			t.Errorf("seen: %v", o)
		}
		if at := b.journal.workers("w"); !slices.Equal(at, []string{"m2", "m3"}) {
			t.Errorf("at work: %v", at)
		}
		again()
		last()
	})
}

// TestReloadInAnOutage checks that a reload in an outage leaves unchanged elections alone, so that work that
// fails open goes on. Elections are exchanged or removed once the store is back.
func TestReloadInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		const before = "group: g\ntiming: {profile: fast}\nelections:\n" +
			"- {name: open, bootstrap: immediate, outage: failopen, failopenFor: unbounded, runners: [{name: w, work: {}}]}\n" +
			"- {name: x, bootstrap: immediate, runners: [{name: w, work: {note: a}}]}\n" +
			"- {name: gone, bootstrap: immediate, runners: [{name: w, work: {}}]}\n"
		m1 := b.start("m1", before)
		wait(20 * time.Second)
		m1.each(func(s *memory.Store) {
			for _, op := range []memory.Op{memory.Put, memory.Get, memory.List, memory.Watch, memory.Deliver} {
				s.On(op, memory.Hang())
			}
			s.CutWatches()
		})
		after := strings.Replace(before, "note: a", "note: b", 1)
		after, _, _ = strings.Cut(after, "- {name: gone")
		if err := m1.reload(after); err != nil {
			t.Fatal(err)
		}
		wait(2 * time.Minute)
		if at := b.journal.workers("open"); !slices.Equal(at, []string{"m1"}) || b.journal.stretches("open") != 1 {
			t.Errorf("in the outage at work for open: %v, begun %d times", at, b.journal.stretches("open"))
		}
		m1.each((*memory.Store).Heal)
		wait(time.Minute)
		if n := b.journal.stretches("open"); n != 1 {
			t.Errorf("the work of open began %d times, want 1", n)
		}
		if led := leaders(m1); len(led["open"]) != 1 || len(led["x"]) != 1 || len(led) != 2 {
			t.Errorf("led in the end: %v", led)
		}
		b.end(m1)
	})
}
