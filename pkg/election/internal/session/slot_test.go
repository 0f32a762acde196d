package session

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

const second = record.Instant(time.Second)

// slots is a directory in which a test writes to one slot.
type slots struct {
	*Directory
	name     string
	revision uint64
}

func newSlots(t *testing.T) *slots {
	timing, err := record.Profile("fast")
	if err != nil {
		t.Fatal(err)
	}
	d := NewDirectory("g", timing)
	d.provenAt = 3600 * second // every end is proven
	return &slots{Directory: d, name: SlotName("g", "h", 0)}
}

// by is a member's record with a beat; if holder differs from marked, somebody else edited it.
func (s *slots) by(holder, marked string, beat uint64, lasts time.Duration) *record.Record {
	return &record.Record{Holder: holder, Group: "g", Member: &record.Member{Identity: marked},
		Mark: &record.Mark{Identity: marked, Beat: beat, Duration: lasts}}
}

func (s *slots) show(now record.Instant, r *record.Record) *slot {
	s.revision++
	s.Observe(now, s.name, r, record.Version{UID: "u", Revision: s.revision})
	return s.slot(s.name)
}

// TestADurationCountsBesideItsBeat checks rule observers-clock: a session lasts as long as its owner wrote
// with its last beat, whatever a stranger changes without a new beat.
func TestADurationCountsBesideItsBeat(t *testing.T) {
	s := newSlots(t)
	expiresAfter := func(from record.Instant, want time.Duration) {
		t.Helper()
		end := from.Add(s.timing.ObserverWait(want))
		if dead, _, _ := s.Expired(end - 1); len(dead) != 0 {
			t.Errorf("it is ended before %v are over", want)
		}
		if dead, _, _ := s.Expired(end); len(dead) != 1 {
			t.Errorf("it is not ended after %v", want)
		}
	}
	s.show(1*second, s.by("h_1", "h_1", 7, time.Minute))
	s.show(2*second, s.by("h_1", "h_1", 7, time.Second))
	expiresAfter(1*second, time.Minute)
	s.show(3*second, s.by("h_1", "h_1", 7, 8760*time.Hour))
	expiresAfter(1*second, time.Minute)
	s.show(4*second, s.by("h_1", "h_1", 8, 20*time.Second))
	expiresAfter(4*second, 20*time.Second)
}

// TestAReadAheadOfTheStreamStartsTheWaitAnew checks rule unknown-is-waited-out for a read that is ahead of
// the stream, of a session without a known owner. The read may have skipped an owner, which the directory
// ignores as old when the stream shows it.
func TestAReadAheadOfTheStreamStartsTheWaitAnew(t *testing.T) {
	for _, next := range []string{"list", "stream"} {
		t.Run(next, func(t *testing.T) {
			s := newSlots(t)
			broken := s.by("h_1", "", 0, 0)
			broken.Member.Identity = "h_1"
			version := func(revision uint64) record.Version { return record.Version{UID: "u", Revision: revision} }
			s.List(1*second, 1*second, 10, []Shown{{s.name, broken, version(10)}})
			if dead, _, _ := s.Expired(8 * second); len(dead) != 1 {
				t.Fatal("this shows nothing: it is not waited out by then")
			}
			s.Read(8*second, 7*second, s.name, broken, version(12))
			if next == "list" {
				s.List(9*second, 8*second, 12, []Shown{{s.name, broken, version(12)}})
			} else {
				s.Observe(9*second, s.name, s.by("h_2", "h_2", 1, s.timing.LeaseDuration), version(11))
				s.Observe(9*second, s.name, broken, version(12))
			}
			if dead, _, _ := s.Expired(9 * second); len(dead) != 0 {
				t.Error("it is ended, though an owner may have lived a second ago")
			}
			if dead, _, _ := s.Expired(8*second + record.Instant(s.timing.ObserverWait(s.timing.LeaseDuration))); len(dead) != 1 {
				t.Error("it is never ended")
			}
		})
	}
}

// TestAReadOfWhatWasPutBackStartsTheWaitAnew checks that a read ahead of the stream restarts the wait for a
// known owner, too: the directory ignores the beats that the read skipped, and a stranger may have restored
// the earlier record after these beats.
func TestAReadOfWhatWasPutBackStartsTheWaitAnew(t *testing.T) {
	s := newSlots(t)
	r := s.by("h_1", "h_1", 7, s.timing.LeaseDuration)
	version := func(revision uint64) record.Version { return record.Version{UID: "u", Revision: revision} }
	s.List(1*second, 1*second, 10, []Shown{{s.name, r, version(10)}})
	s.Read(8*second, 7*second, s.name, r, version(12))
	s.Observe(9*second, s.name, s.by("h_1", "h_1", 8, s.timing.LeaseDuration), version(11))
	if dead, _, _ := s.Expired(9 * second); len(dead) != 0 {
		t.Error("it is ended, though its owner may have beaten a second ago")
	}
	if dead, _, _ := s.Expired(8*second + record.Instant(s.timing.ObserverWait(s.timing.LeaseDuration))); len(dead) != 1 {
		t.Error("it is never ended")
	}
}

// TestTamperedIsAboutThePresentOwner checks that tampered concerns only the present owner of a slot, not
// earlier ones, and that a session that ended does not come back (rule a-session-ends-once).
func TestTamperedIsAboutThePresentOwner(t *testing.T) {
	type write struct {
		holder, marked string
		beat           uint64
	}
	for what, tt := range map[string]struct {
		writes   []write
		tampered bool
	}{
		"put back in a used slot":       {[]write{{"h_1", "h_1", 500}, {"", "", 501}, {"h_2", "h_2", 1}, {"", "h_2", 1}, {"h_2", "h_2", 1}}, true},
		"taken over when blanked":       {[]write{{"h_1", "h_1", 1}, {"", "h_1", 1}, {"h_2", "h_2", 1}}, false},
		"ended and put back":            {[]write{{"h_1", "h_1", 3}, {"", "", 4}, {"h_1", "h_1", 3}}, true},
		"ended and put back with more":  {[]write{{"h_1", "h_1", 3}, {"", "", 4}, {"h_1", "h_1", 5}}, true},
		"ended, edited and put back":    {[]write{{"h_1", "h_1", 3}, {"", "", 4}, {"x", "", 4}, {"h_1", "h_1", 5}}, true},
		"ended and used again":          {[]write{{"h_1", "h_1", 3}, {"", "", 4}, {"h_2", "h_2", 1}}, false},
		"blanked, then its owner beats": {[]write{{"h_1", "h_1", 3}, {"", "h_1", 3}, {"h_1", "h_1", 4}}, false},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSlots(t)
			var last *slot
			for i, w := range tt.writes {
				last = s.show(record.Instant(i+1), s.by(w.holder, w.marked, w.beat, s.timing.LeaseDuration))
			}
			if last.tampered != tt.tampered {
				t.Errorf("tampered: %v", last.tampered)
			}
		})
	}
}

// TestASessionOfAnotherGroup checks that nobody here ends a session that a stranger gave another group. The
// session owns the locks that it renewed while its owner beats; after that it counts as unknown.
func TestASessionOfAnotherGroup(t *testing.T) {
	s := newSlots(t)
	owns := func(now record.Instant) (owns bool, changes record.Instant) {
		view, changes := s.View(now, "")
		return view.Sessions[s.name].Equal(machine.Session{UID: "u", Holder: "h_1"}), changes
	}
	alien := func(now record.Instant, beat uint64) (end record.Instant) {
		r := s.by("h_1", "h_1", beat, s.timing.LeaseDuration)
		r.Group = "other"
		s.show(now, r)
		return now.Add(s.timing.ObserverWait(s.timing.LeaseDuration))
	}
	s.show(1*second, s.by("h_1", "h_1", 1, s.timing.LeaseDuration))
	alien(2*second, 1)
	end := alien(3*second, 2)
	if is, changes := owns(end - 1); !is || changes != end {
		t.Errorf("before its end it owns what it renewed: %v, until %v, want %v", is, changes, end)
	}
	if is, _ := owns(end); is {
		t.Error("it owns what it renewed for ever: nobody ends it")
	}
	alien(end, 3)
	if is, _ := owns(end); !is {
		t.Error("its owner beats, and owns nothing")
	}
}

// TestAnEndIsAnEnd checks that EndedRecord ends a session whatever its record says.
func TestAnEndIsAnEnd(t *testing.T) {
	r := newSlots(t).by("h_1", "h_1", 1, time.Second)
	r.Claim, r.Unreadable = &record.Claim{Identity: "x"}, "json"
	if e := EndedRecord(r, "h_2", "expired"); !e.Released() {
		t.Errorf("%+v is no end", e)
	}
}

// TestAnUnfitSlot checks that a member skips a slot in which the store accepts no session, until the slot's
// object changes. The member does not skip an absent slot: otherwise it would go on from slot to slot for ever.
func TestAnUnfitSlot(t *testing.T) {
	s := newSlots(t)
	own := NewOwn(Config{Group: "g", Host: "h", Timing: s.timing}, s.Directory, record.Member{Identity: "h_2"})
	now := 1 * second
	written := func() string {
		t.Helper()
		actions, _ := own.Step(now)
		if len(actions) != 1 {
			t.Fatalf("it does %v", actions)
		}
		w := actions[0].(Write)
		own.Unfit(w.Beat)
		own.WriteDone(now, w.Beat, machine.Refused, record.Version{})
		now += 10 * second
		return w.Name
	}
	released := s.by("", "", 1, time.Second)
	s.List(now, now, 1, nil)
	s.revision = 1
	s.show(now, released)
	for i, want := range []string{SlotName("g", "h", 0), SlotName("g", "h", 1), SlotName("g", "h", 1)} {
		if got := written(); got != want {
			t.Errorf("try %d goes to %s, want %s", i, got, want)
		}
	}
	s.show(now, released)
	if got := written(); got != SlotName("g", "h", 0) {
		t.Errorf("an object that has changed is not tried again, but %s", got)
	}
}

// TestASlotOfOthers checks that a new session replaces no object that never told of a member: it may be a living lock of another program.
func TestASlotOfOthers(t *testing.T) {
	j := newJoiner(t, Shown{Name: SlotName("g", "a", 0), Record: &record.Record{Holder: "operator"}, Version: record.Version{UID: "u", Revision: 9}})
	if w := j.writes(3600 * second); w.Name != SlotName("g", "a", 1) {
		t.Errorf("it writes to %s", w.Name)
	}
}
