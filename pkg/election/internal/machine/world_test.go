package machine

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// world is a driver that keeps its contract, a store that answers as badly as it may, and strangers. It
// checks everything that the machine does.
type world struct {
	t     *rapid.T
	cfg   Config
	state State
	now   record.Instant
	wake  record.Instant

	// history is all that was ever stored, oldest first; streamed is how many of those
	// the stream has shown.
	history  []entry
	streamed int
	uids     int
	// listing: the stream is cut, and a list was sent.
	listing  bool
	listSent record.Instant

	flight    *flight   // the write that waits for its answer
	limbo     []*flight // writes given up, which may still be committed
	reading   *reading
	lastBeat  uint64
	lastToken record.Token
	working   bool
	stopping  bool
	deadline  record.Instant
	sent      map[record.Token]record.Instant // of each term, the latest committed write
	taken     map[record.Token]uint64         // and the revision of the first
	peers     []Peer
	// through: our session renews our terms. beat is its last beat while that is on its way; beatSeen is
	// when the last beat that we saw was sent.
	through  bool
	beat     *beat
	beatSeen record.Instant
	sessions map[string]Session
	resigned bool
	events   int
	stamps   int64
	// electors are the foreign electors. verdict, if a test sets it, gets the first thing that they or we did
	// wrong.
	electors []*elector
	verdict  *string
}

type flight struct {
	Write
	sent      record.Instant
	committed *entry
}

type reading struct {
	sent record.Instant
	shot *entry // what the read found, before its answer is on its way
}

func newWorld(t *rapid.T) *world {
	timing, err := record.Profile(rapid.SampledFrom([]string{"fast", "default"}).Draw(t, "profile"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, now: startOfTime, sent: map[record.Token]record.Instant{}, taken: map[record.Token]uint64{}, state: Initial()}
	w.cfg = Config{
		Election: "work", Group: "edge", Member: member("m1", arguments{"location": "remote"}),
		Timing: timing, Policy: priority.RevisionLocation{},
		Bootstrap: rapid.SampledFrom([]Bootstrap{BootstrapWait, BootstrapImmediate}).Draw(t, "bootstrap"),
	}
	w.history = []entry{{version: record.Version{Revision: 1}}}
	w.cfg.Preferred, w.cfg.Digest = record.Preferred{State: record.PreferredNotSynced}, "d"
	w.listing, w.listSent = true, w.now
	return w
}

func (w *world) latest() *entry { return &w.history[len(w.history)-1] }

func (w *world) store(r *record.Record) *entry {
	last := w.latest()
	e := entry{record: r, version: record.Version{Revision: last.version.Revision + 1}}
	switch {
	case r == nil:
	case last.record == nil:
		w.uids++
		e.version.UID = fmt.Sprintf("u%d", w.uids)
	default:
		e.version.UID = last.version.UID
	}
	w.history = append(w.history, e)
	return w.latest()
}

// commit stores a write if its condition holds.
func (w *world) commit(f *flight) bool {
	last := w.latest()
	current := last.version
	if last.record == nil {
		current = record.Version{}
	}
	if f.committed != nil || f.If != current {
		return false
	}
	if f.Purpose == Release && w.suspected() {
		w.found("released while a foreign elector is at work")
	}
	r := f.Record
	r.Renewed = w.stamp()
	stored := *w.store(&r)
	f.committed = &stored
	if w.taken[r.Token] == 0 {
		w.taken[r.Token] = stored.version.Revision
	}
	w.sent[r.Token] = max(w.sent[r.Token], f.sent)
	return true
}

// step gives the machine an event and checks all that it answers.
func (w *world) step(event Event) {
	w.events++
	after, actions := w.decided(event)
	w.state = after
	if o, ok := event.(Observed); ok && o.Record != nil {
		if e := w.electorNamed(o.Record.Holder); e != nil {
			e.shown, e.shownAt = true, o.Version.Revision
		}
	}
	if len(after.writes.open) > maxUnknown+1 || len(after.succession.passedOver) > maxPassedOver || len(after.foreign.suspects) > maxSuspects {
		w.t.Fatalf("memory grows: %d writes, %d passed over, %d suspects", len(after.writes.open), len(after.succession.passedOver), len(after.foreign.suspects))
	}
	for _, a := range actions {
		w.carryOut(a)
	}
	if w.working != (after.Role == Leading) {
		w.t.Fatalf("working: %v, but %v", w.working, after.Role)
	}
}

// decided is what Step makes of the event. It checks that Step is a function and wrote to no argument.
func (w *world) decided(event Event) (State, []Action) {
	if w.verdict != nil {
		return Step(w.cfg, w.state, w.now, event) // this test asks only the judge
	}
	before, view := dump(w.state), dump(event)
	after, actions := Step(w.cfg, w.state, w.now, event)
	if dump(w.state) != before || dump(event) != view {
		w.t.Fatalf("%T: Step wrote to its arguments", event)
	}
	again, same := Step(w.cfg, w.state, w.now, event)
	if dump(after) != dump(again) || dump(actions) != dump(same) {
		w.t.Fatalf("%T: Step is not a function", event)
	}
	return after, actions
}

func (w *world) carryOut(a Action) {
	t := w.t
	switch a := a.(type) {
	case Write:
		switch {
		case w.flight != nil || w.reading != nil:
			t.Fatalf("%v while another write or a read is in flight", a.Purpose)
		case a.Beat <= w.lastBeat || a.Record.Mark != nil && a.Record.Mark.Beat != a.Beat:
			t.Fatalf("beat %d after %d", a.Beat, w.lastBeat)
		case a.Purpose == Release && (w.working || w.stopping):
			t.Fatal("released before the work has stopped")
		case a.Purpose == Take && (w.working || w.stopping || w.resigned):
			t.Fatal("a take at the wrong time")
		case a.Record.Mark != nil && !a.Record.Bound():
			t.Fatal("wrote a record that is not bound")
		case a.Purpose == Claim && a.Record.Claim == nil && w.now >= w.state.foreign.robbedUntil(), a.Purpose == Take && a.Record.Claim != nil:
			t.Fatalf("%v with the claim %v", a.Purpose, a.Record.Claim)
		case a.Purpose == Release && a.Record.Claim != nil:
			t.Fatal("released a claim")
		case a.Purpose == Renew && (a.Record.Claim != nil) != (w.claimLasts()):
			t.Fatalf("%v renews with the claim %v", w.state.Role, a.Record.Claim)
		}
		w.lastBeat = a.Beat
		w.flight = &flight{Write: a, sent: w.now}
	case Read:
		if w.reading != nil {
			t.Fatal("two reads at once")
		}
		w.reading = &reading{sent: w.now}
	case Start:
		switch {
		case w.working || w.stopping:
			t.Fatal("started before the last term's work has stopped")
		case a.Token <= w.lastToken:
			t.Fatalf("token %d after %d", a.Token, w.lastToken)
		case a.Deadline <= w.now:
			t.Fatal("started dead")
		case w.resigned:
			t.Fatal("started after the resignation")
		}
		w.foreignAtWork(w.taken[a.Token])
		w.granted(a.Token, a.Deadline)
		w.working, w.lastToken, w.deadline = true, a.Token, a.Deadline
	case Extend:
		if !w.working || a.Deadline <= w.deadline || w.now >= w.deadline {
			t.Fatalf("extended at %v from %v to %v while working: %v", w.now, w.deadline, a.Deadline, w.working)
		}
		w.granted(w.lastToken, a.Deadline)
		w.deadline = a.Deadline
	case Stop:
		if !w.working || a.By > w.deadline {
			t.Fatal("stop without a start, or later than the deadline")
		}
		w.working, w.stopping = false, true
	case WakeAt:
		if a.At != 0 && a.At <= w.now {
			t.Fatalf("wake at %v, now %v", a.At, w.now)
		}
		w.wake = a.At
	}
}

// granted checks a deadline against the send time of what is stored (rule sending-counts).
func (w *world) granted(token record.Token, deadline record.Instant) {
	sent, stored := w.sent[token]
	if w.through {
		sent = w.beatSeen
	}
	if !stored || deadline > sent.Add(w.cfg.Timing.Validity()) {
		w.t.Fatalf("token %d: deadline %v, but stored: %v, sent at %v", token, deadline, stored, sent)
	}
}

// answer ends the write in flight.
func (w *world) answer(outcome Answer) {
	f := w.flight
	w.flight = nil
	done := WriteDone{Beat: f.Beat, Answer: outcome, Sent: f.sent, Jitter: w.jitter()}
	switch outcome {
	case Committed:
		done.Record, done.Version = f.committed.record, f.committed.version
	case Unknown:
		if f.committed == nil {
			w.limbo = append(w.limbo, f)
		}
	}
	w.step(done)
}

func (w *world) jitter() float64 {
	return rapid.SampledFrom([]float64{0, 0.3, 0.99}).Draw(w.t, "jitter")
}

func (w *world) answerRead() {
	r := w.reading
	w.reading = nil
	shot := r.shot
	if shot == nil {
		shot = w.latest()
	}
	o := Observed{Source: ReadBack, Record: shot.record, Version: shot.version, Sent: r.sent, Jitter: w.jitter()}
	if o.Record == nil {
		o.Version = record.Version{}
	}
	w.step(o)
}

func (w *world) answerList() {
	w.listing = false
	w.streamed = len(w.history)
	last := w.latest()
	w.step(Observed{Source: List, Record: last.record, Version: last.version, Sent: w.listSent, Jitter: w.jitter()})
}

func (w *world) showNext() {
	e := w.history[w.streamed]
	w.streamed++
	w.step(Observed{Source: Stream, Record: e.record, Version: e.version, Jitter: w.jitter()})
}

// pass lets time go by, but not beyond the instant at which the machine wants a Tick: a late Tick is a case
// of its own.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
}

func (w *world) setPeer(p Peer) {
	w.peers = slices.DeleteFunc(slices.Clone(w.peers), func(o Peer) bool { return o.Identity == p.Identity })
	w.peers = append(w.peers, p)
	w.step(DirectoryChanged{View: &View{Peers: w.peers, Sessions: w.sessions}})
}
