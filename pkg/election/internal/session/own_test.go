package session

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// joiner is a member that creates its session.
type joiner struct {
	*Own
	t   *testing.T
	dir *Directory
}

func newJoiner(t *testing.T, shown ...Shown) joiner {
	t.Helper()
	timing, err := record.Profile("fast")
	if err != nil {
		t.Fatal(err)
	}
	d := NewDirectory("g", timing)
	d.List(second, second, 10, shown)
	return joiner{NewOwn(Config{Group: "g", Host: "a", Timing: timing}, d, record.Member{Identity: "a_00000001", Ready: true}), t, d}
}

// writes is the write that the session asks for now.
func (j joiner) writes(now record.Instant) Write {
	j.t.Helper()
	actions, _ := j.Step(now)
	if len(actions) == 1 {
		if w, ok := actions[0].(Write); ok {
			return w
		}
	}
	j.t.Fatalf("it asks for %+v, want one write", actions)
	return Write{}
}

// stored commits w, which gets the version v.
func (j joiner) stored(now record.Instant, w Write, v record.Version) {
	j.dir.Observe(now, w.Name, &w.Record, v)
	j.WriteDone(now, w.Beat, machine.Committed, v)
}

// TestABeatIsWorthFromWhenItWasSent checks rule seen-not-assumed: the validity of what a beat renews counts
// from when we sent the beat, however late the stream shows it.
func TestABeatIsWorthFromWhenItWasSent(t *testing.T) {
	j := newJoiner(t)
	v := record.Version{UID: "u", Revision: 11}
	w := j.writes(2 * second)
	j.stored(3*second, w, v)
	seen, ours := j.Seen(4*second, w.Name, &w.Record, v)
	if want := (machine.Beat{Session: w.Name, UID: "u", Sent: 2 * second}); !ours || seen != want {
		t.Errorf("seen %+v, ours %v, want %+v", seen, ours, want)
	}
}

// TestAnObjectMadeAnewIsNoneOfOurs checks that our session's object, if a stranger recreates it with a copy
// of our record, renews nothing of ours: to others it is another session.
func TestAnObjectMadeAnewIsNoneOfOurs(t *testing.T) {
	j := newJoiner(t)
	w := j.writes(2 * second)
	j.stored(3*second, w, record.Version{UID: "u", Revision: 11})
	if seen, ours := j.Seen(4*second, w.Name, &w.Record, record.Version{UID: "v", Revision: 12}); ours {
		t.Errorf("seen %+v", seen)
	}
}

// TestASessionThatMayHaveEnded checks rule a-session-ends-once if we don't know whether our write created the
// session, and the slot has changed since. The session may have existed and ended meanwhile, so we never use
// its identity again.
func TestASessionThatMayHaveEnded(t *testing.T) {
	slot := SlotName("g", "a", 0)
	bound := &record.Record{Holder: "a_00000000", Group: "g", Mark: &record.Mark{Identity: "a_00000000", Beat: 7}}
	ended := EndedRecord(bound, "b_00000001", "expired")
	was := Shown{Name: slot, Record: &ended, Version: record.Version{UID: "u", Revision: 10}}
	for what, then := range map[string]func(*Directory){
		"ended": func(d *Directory) {
			d.Observe(4*second, slot, &ended, record.Version{UID: "u", Revision: 12})
		},
		"deleted": func(d *Directory) { d.Observe(4*second, slot, nil, record.Version{Revision: 12}) },
	} {
		t.Run(what, func(t *testing.T) {
			j := newJoiner(t, was)
			w := j.writes(2 * second)
			if w.Name != slot || w.If != was.Version {
				t.Fatalf("joins by %+v", w)
			}
			j.WriteDone(3*second, w.Beat, machine.Unknown, record.Version{})
			then(j.dir)
			j.ReadDone(slot)
			if actions, _ := j.Step(60 * second); len(actions) != 0 {
				t.Errorf("it asks for %+v", actions)
			}
			if why, lost := j.Lost(); !lost || why != LostEnded {
				t.Errorf("lost %v, %q", lost, why)
			}
		})
	}
}

// TestLeavingWhileTheSessionIsMade checks that a member that leaves while the write that creates its session
// is under way ends that session, so that nobody waits until it expires.
func TestLeavingWhileTheSessionIsMade(t *testing.T) {
	j := newJoiner(t)
	w := j.writes(2 * second)
	if j.Leave(); j.Over() {
		t.Fatal("the session may yet be made, and is forgotten")
	}
	v := record.Version{UID: "u", Revision: 11}
	j.stored(3*second, w, v)
	end := j.writes(4 * second)
	if !end.Record.Released() || end.If != v {
		t.Fatalf("it writes %+v, want the end of its session", end)
	}
	j.stored(5*second, end, record.Version{UID: "u", Revision: 12})
	if j.Step(6 * second); !j.Over() {
		t.Error("it is not over")
	}
}

// TestNobodyIsEndedWithoutProof checks that a session does not count as expired while its beats may only be
// late: the stream must first show a beat that we sent after the session's end.
func TestNobodyIsEndedWithoutProof(t *testing.T) {
	s := newSlots(t)
	s.provenAt = 0
	end := s.endOf(s.show(second, s.by("h_1", "h_1", 7, s.timing.LeaseDuration)))
	for _, proven := range []record.Instant{0, second, end - 1} {
		s.provenAt = proven
		if dead, _, unproven := s.Expired(end + 100*second); len(dead) != 0 || unproven != end {
			t.Errorf("proven at %d, the end is at %d: dead %v, without proof until %d", proven, end, dead, unproven)
		}
	}
	s.provenAt = end
	if dead, _, unproven := s.Expired(end + 100*second); len(dead) != 1 || unproven != 0 {
		t.Errorf("proven: dead %v, without proof until %d", dead, unproven)
	}
}

// TestNewsAreToldAtOnce checks that the session tells news at once as long as the stream shows its beats, and while that is late,
// with the next beat that is due, so that the beats which are shown at last are still recognized (rule seen-not-assumed).
func TestNewsAreToldAtOnce(t *testing.T) {
	j := newJoiner(t)
	now := 2 * second
	var sent []Write
	tell := func() Write {
		now = now.Add(time.Millisecond)
		j.Publish(record.Member{Identity: "a_00000001", Ready: len(sent)%2 == 0})
		w := j.writes(now)
		j.stored(now, w, record.Version{UID: "u", Revision: 10 + w.Beat})
		sent = append(sent, w)
		return w
	}
	shown := func(w Write) bool {
		_, ours := j.Seen(now, w.Name, &w.Record, record.Version{UID: "u", Revision: 10 + w.Beat})
		return ours
	}
	for range 3 * maxSent {
		if !shown(tell()) {
			t.Fatal("a beat is not recognized")
		}
	}
	for range maxUnseen {
		tell()
	}
	j.Publish(record.Member{Identity: "a_00000001", Revision: "news"})
	actions, next := j.Step(now)
	if len(actions) != 0 || next != j.beatAt {
		t.Errorf("%d beats are not shown yet, and it asks for %+v, next at %v, want nothing before %v", maxUnseen, actions, next, j.beatAt)
	}
	if !shown(sent[len(sent)-maxUnseen]) {
		t.Error("the first of them is not recognized")
	}
	if w := j.writes(now); w.Record.Member.Revision != "news" {
		t.Errorf("then it writes %+v", w.Record.Member)
	}
}

// TestABeatIsStoredByItsAnswer checks that the store had a beat by its answer, however late the stream shows the beat, and that a beat
// without an answer may have been stored just now (rule open-until-a-no).
func TestABeatIsStoredByItsAnswer(t *testing.T) {
	j := newJoiner(t)
	w, v := j.writes(2*second), record.Version{UID: "u", Revision: 11}
	shown := func(now record.Instant) record.Instant {
		if _, ours := j.Seen(now, w.Name, &w.Record, v); !ours {
			t.Fatal("the beat is not recognized")
		}
		return j.StoredBy(now)
	}
	if got := shown(3 * second); got != 3*second {
		t.Errorf("shown before its answer, it was stored by %v", time.Duration(got))
	}
	j.stored(4*second, w, v)
	if got := shown(9 * second); got != 4*second {
		t.Errorf("shown after its answer, it was stored by %v", time.Duration(got))
	}
}
