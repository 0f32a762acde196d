package controller

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

const (
	me    = "red-1_00000001"
	other = "green-1_00000002"
	lasts = 6 * time.Second
)

// world lets a test show sessions to eyes.
type world struct {
	*eyes
	s        *stream
	revision uint64
}

// unread is a store that nobody reads.
type unread struct{ lock.Store }

func newWorld() *world {
	store := &unread{}
	e := newEyes(Config{Group: "edge", Sessions: store, Clock: clock.Boottime(), Timing: record.Timing{LeaseDuration: lasts, StandDown: time.Minute}},
		[]election.Spec{{Name: "web", Lock: "web", Locks: store}})
	return &world{eyes: e, s: e.streams[store]}
}

func (w *world) session(identity, revision string, beat uint64) lock.Entry {
	w.revision++
	name := "primacy-edge-" + record.HostOf(identity) + "-0"
	return lock.Entry{Name: name, Version: record.Version{UID: name, Revision: w.revision}, Record: &record.Record{
		Holder: identity, Group: "edge", Duration: lasts,
		Mark:   &record.Mark{Identity: identity, Beat: beat, Duration: lasts},
		Member: &record.Member{Identity: identity, Revision: revision, Ready: true},
	}}
}

func (w *world) list(at time.Duration, entries ...lock.Entry) {
	w.see(w.s, lock.Event{Kind: lock.Listed, List: entries}, record.Instant(at))
}

func (w *world) beat(at time.Duration, identity, revision string, n uint64) {
	w.see(w.s, lock.Event{Kind: lock.Changed, Entry: w.session(identity, revision, n)}, record.Instant(at))
}

func (w *world) believes(t *testing.T, at time.Duration, want bool) moment {
	t.Helper()
	m, ok := w.moment("rollout-edge", me, record.Instant(at))
	if ok != want {
		t.Fatalf("at %v it believes what it sees: %v", at, ok)
	}
	return m
}

// TestBelievesOnlyWhileItSees checks that a controller whose streams are held up takes no member's
// silence for its death.
func TestBelievesOnlyWhileItSees(t *testing.T) {
	const s = time.Second
	w := newWorld()
	w.believes(t, 0, false)
	w.list(1*s, w.session(me, "red", 1), w.session(other, "green", 1))
	if m := w.believes(t, 2*s, true); m.canary("web", priority.RevisionLocation{}, "", record.Prefer("green")) != other {
		t.Error("the canary's member is not seen")
	}
	drained := record.Prefer("green")
	drained.Drained = record.HostsOf(record.HostOf(other))
	if m := w.believes(t, 2*s, true); m.canary("web", priority.None{}, me, drained) != "" || m.canary("web", priority.RevisionLocation{}, "", drained) != "" {
		t.Error("a drained member of the canary counts as one that would lead")
	}
	// Nothing arrives for a while, not even the controller's own beats.
	w.believes(t, 5*s, false)
	w.beat(8*s, me, "red", 2)
	if m := w.believes(t, 8*s, true); m.canary("web", priority.RevisionLocation{}, "", record.Prefer("green")) != "" {
		t.Error("one that was silent for longer than it lasts is alive")
	}
	// The stream breaks and resumes: silence in between means nothing.
	w.beat(8*s, other, "green", 2)
	w.see(w.s, lock.Event{Kind: lock.Broken}, record.Instant(9*s))
	w.believes(t, 9*s, false)
	w.see(w.s, lock.Event{Kind: lock.Resumed}, record.Instant(20*s))
	if m := w.believes(t, 20*s, true); m.canary("web", priority.RevisionLocation{}, "", record.Prefer("green")) != other || m.eyes.pulses["primacy-edge-green-1-0"].heard(m.at)[0] != 0 {
		t.Errorf("a break of the stream is taken for the silence of a member: %v", m.eyes.pulses)
	}
}

// TestSinceWhenItSees checks that a controller begins its waits anew if it has not seen its group for a while, and does not
// after a short break of a stream.
func TestSinceWhenItSees(t *testing.T) {
	const s = time.Second
	w := newWorld()
	w.list(1*s, w.session(me, "red", 1))
	for beat, tt := range []struct{ at, since time.Duration }{{1 * s, 1 * s}, {3 * s, 1 * s}, {6 * s, 1 * s}, {10 * s, 10 * s}, {12 * s, 10 * s}} {
		if tt.at == 6*s {
			w.see(w.s, lock.Event{Kind: lock.Broken}, record.Instant(4*s))
			w.believes(t, 4*s, false)
			w.see(w.s, lock.Event{Kind: lock.Resumed}, record.Instant(5*s))
		}
		w.beat(tt.at, me, "red", uint64(beat)+2)
		if w.believes(t, tt.at, true); w.since != record.Instant(tt.since) {
			t.Errorf("at %v it has seen its group since %v, want %v", tt.at, time.Duration(w.since), tt.since)
		}
	}
}

// TestStreamOfNothing checks that a stream that shows no object, since nobody could create the lock, is whole again after a break.
func TestStreamOfNothing(t *testing.T) {
	elsewhere := &unread{}
	e := newEyes(Config{Group: "edge", Sessions: &unread{}}, []election.Spec{{Name: "web", Lock: "web", Locks: elsewhere}})
	s := e.streams[elsewhere]
	for _, step := range []struct {
		kind lock.EventKind
		want bool
	}{{lock.Resumed, false}, {lock.Listed, true}, {lock.Broken, false}, {lock.Resumed, true}} {
		if e.see(s, lock.Event{Kind: step.kind}, 1); s.whole != step.want {
			t.Errorf("after event %v: whole is %v", step.kind, s.whole)
		}
	}
}

// TestLeads checks that a lock's holder counts as leader only while it is at work.
func TestLeads(t *testing.T) {
	w := newWorld()
	mine := w.session(me, "red", 1)
	held := func(change func(*record.Record)) lock.Entry {
		r := &record.Record{Holder: me, Group: "edge", Election: "web", Mark: &record.Mark{
			Identity: me, Key: "red", Renewal: record.RenewalSession, Session: mine.Name, SessionUID: mine.Version.UID,
		}}
		change(r)
		return lock.Entry{Name: "web", Record: r, Version: record.Version{UID: "w", Revision: 1}}
	}
	for name, tt := range map[string]struct {
		change func(*record.Record)
		want   string
	}{
		"leads":           {func(*record.Record) {}, me},
		"released":        {func(r *record.Record) { r.Holder, r.Mark.Identity = "", "" }, ""},
		"claiming":        {func(r *record.Record) { r.Claim = &record.Claim{Identity: "somebody"} }, ""},
		"foreign":         {func(r *record.Record) { r.Holder = "somebody" }, ""},
		"another session": {func(r *record.Record) { r.Mark.SessionUID = "x" }, ""},
		"dead":            {func(r *record.Record) { r.Holder, r.Mark.Identity, r.Mark.Renewal = other, other, record.RenewalRecord }, ""},
	} {
		w.list(0, mine, held(tt.change))
		e := w.believes(t, 0, true).election(w.elections[0], rollout.Plan{Rollout: &rollout.Spec{Canary: "green"}})
		if e.Holder != tt.want || (e.Revision == "red") != (tt.want != "") {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestHolderWithAnotherClock checks that the end of a holder's minHold does not depend on how far its wall clock differs from the
// controller's.
func TestHolderWithAnotherClock(t *testing.T) {
	const s = time.Second
	for _, off := range []time.Duration{0, -10 * time.Minute, 10 * time.Minute} {
		w := newWorld()
		w.elections[0].Timing.MinHold = time.Minute
		its := w.Clock.Wall().Add(-w.Clock.Now().Sub(record.Instant(10 * s))).Add(off) // its term began at 10 s
		mine := w.session(me, "red", 1)
		mine.Record.Renewed = its.Add(20 * s)
		held := lock.Entry{Name: "web", Version: record.Version{UID: "w", Revision: 1}, Record: &record.Record{
			Holder: me, Group: "edge", Election: "web", Acquired: its, Mark: &record.Mark{
				Identity: me, Key: "red", Renewal: record.RenewalSession, Session: mine.Name, SessionUID: mine.Version.UID,
			},
		}}
		w.list(30*s, mine, held)
		m := w.believes(t, 31*s, true)
		e := m.election(w.elections[0], rollout.Plan{Rollout: &rollout.Spec{Canary: "green"}})
		if left := e.HeldUntil.Sub(m.wall).Round(s); left != 39*s {
			t.Errorf("with a clock that is off by %v, minHold ends in %v", off, left)
		}
	}
}

// TestHolderWithoutTimes checks that nobody waits for ever because a stranger removed when the holder took the lock, or when it last renewed
// its session.
func TestHolderWithoutTimes(t *testing.T) {
	const s = time.Second
	for what, remove := range map[string]func(lock, session *record.Record){
		"acquire time": func(lock, _ *record.Record) { lock.Acquired = time.Time{} },
		"renew time":   func(_, session *record.Record) { session.Renewed = time.Time{} },
		"long ago":     func(lock, _ *record.Record) { lock.Acquired = time.Unix(1, 0) },
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld()
			w.elections[0].Timing.MinHold = time.Minute
			mine := w.session(me, "red", 1)
			mine.Record.Renewed = w.Clock.Wall()
			held := lock.Entry{Name: "web", Version: record.Version{UID: "w", Revision: 1}, Record: &record.Record{
				Holder: me, Group: "edge", Election: "web", Acquired: w.Clock.Wall(), Mark: &record.Mark{
					Identity: me, Key: "red", Renewal: record.RenewalSession, Session: mine.Name, SessionUID: mine.Version.UID,
				},
			}}
			remove(held.Record, mine.Record)
			w.list(30*s, mine, held)
			m := w.believes(t, 31*s, true)
			e := m.election(w.elections[0], rollout.Plan{Rollout: &rollout.Spec{Canary: "green"}})
			if left := e.HeldUntil.Sub(m.wall); left > time.Minute {
				t.Errorf("minHold ends in %v", left)
			}
		})
	}
}
