package machine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// writes are the writes to the lock that this member asked for, one at a time, and what it does not know of
// them yet.
type writes struct {
	// last is the number of the last write that we asked for.
	last uint64
	// first is the number of the first write; zero before. A lower number belongs to a write of an earlier
	// machine of this incarnation.
	first uint64
	// open are the writes without an answer, or answered with Unknown and not yet passed.
	open    []write
	reading bool
	// baffled: the store rejected a write, and what we know of the lock does not explain it.
	baffled bool
	// denied: the store's last word on a renewal was a definite no.
	denied bool
	// retryAt is the earliest instant for the next write after a failure.
	retryAt record.Instant
	// silentSince is when the first write went out after the last one that the store answered; zero for none.
	silentSince record.Instant
}

type write struct {
	purpose Purpose
	beat    uint64
	onto    record.Version
	asked   record.Instant
	token   record.Token
	// unknown: the driver gave up waiting; it may still be committed.
	unknown bool
	// seamless: when we asked for it, the stream and our own writes had shown every version up to the one that it replaces.
	seamless bool
	// seen: the stream or a read showed it committed before its reply came.
	seen bool
	// throughSession: beats of our session renew the record that this write makes.
	throughSession bool
	// beforePause: a pause came after we asked for this write, so the write begins no term.
	beforePause bool
}

// retryInterval is the pause after a failure: a quarter of the renewal interval and up to as much again, so
// that members do not retry in step.
func (s *step) retryInterval() time.Duration {
	quarter := s.cfg.Timing.RenewInterval / 4
	return quarter + time.Duration(s.jitter*float64(quarter))
}

func (s *step) backOff(atLeast time.Duration) {
	s.writes.retryAt = s.now.Add(max(atLeast, s.retryInterval()))
}

// writableAt is when a write may go out: one at a time, and paced after failures. It is zero while we must
// wait for an answer first.
func (s *step) writableAt() record.Instant {
	if s.writes.reading || slices.ContainsFunc(s.writes.open, func(w write) bool { return !w.unknown }) {
		return 0
	}
	return max(s.now, s.writes.retryAt)
}

// maxUnknown bounds how many writes of unknown outcome we remember. To forget one is safe: we still
// recognize its commit as ours, but it extends nothing.
const maxUnknown = 16

// put requests a write that replaces the newest version that we know.
func (s *step) put(p Purpose, r record.Record) {
	s.writes.last++
	s.writes.asks(s.now)
	s.writes.first = cmp.Or(s.writes.first, s.writes.last)
	if r.Mark != nil {
		r.Mark.Beat = s.writes.last
	}
	w := write{purpose: p, beat: s.writes.last, asked: s.now, token: r.Token, throughSession: r.ThroughSession()}
	s.claims(r.Claim)
	if s.Lock.Record != nil {
		w.onto = s.Lock.Version
	}
	w.seamless = s.Lock.Version == s.Lock.streamed || s.Lock.seamless
	kept := s.writes.open[max(0, len(s.writes.open)-maxUnknown+1):]
	s.writes.open = append(slices.Clone(kept), w)
	s.act(Write{Purpose: p, Record: r, If: w.onto, Beat: w.beat})
}

// MayYetTake says whether a take of ours through our session may yet be carried out, or was, as far as we know.
func (s *State) MayYetTake() bool {
	return slices.ContainsFunc(s.writes.open, func(w write) bool { return w.purpose == Take && w.throughSession })
}

// openSeamless says whether the write with this number is seamless, was asked for after an instant, and has no certain answer yet.
func (w *writes) openSeamless(beat uint64, after record.Instant) bool {
	return slices.ContainsFunc(w.open, func(o write) bool { return o.beat == beat && o.seamless && o.asked > after })
}

// noteStored notes that the store has the write o, at this revision. Nothing delays the next write any more.
func (s *step) noteStored(o write, revision uint64) {
	s.writes.retryAt = 0
	if revision == s.Lock.Version.Revision {
		s.Lock.seamless = o.seamless
	}
}

func (s *step) read() { s.ask(Read{}) }

func (s *step) ask(r Read) {
	if !s.writes.reading {
		s.writes.reading = true
		s.act(r)
	}
}

// pause keeps the writes without a reply from beginning a term. In a migration a pause means that the old lock's
// term has ended. The token of its next term may be above the version that such a write gave the new lock. Only a
// later take of the new lock raises that version above the token (rule tokens-rise).
func (w *writes) pause() {
	w.open = slices.Clone(w.open)
	for i := range w.open {
		w.open[i].beforePause = true
	}
}

// answered handles the reply to a write.
func (s *step) answered(e WriteDone) {
	i := slices.IndexFunc(s.writes.open, func(w write) bool { return w.beat == e.Beat })
	if i < 0 {
		// Forgotten, or passed while of unknown outcome. A second answer would be a driver's bug, but there
		// is nothing to decide.
		return
	}
	w := s.writes.open[i]
	if e.Answer == Committed && (e.Record == nil || e.Sent < w.asked || e.Sent > s.now) {
		panic(fmt.Sprintf("machine: %s: write %d committed without a record, or not sent between its request and its reply", s.cfg.Election, e.Beat))
	}
	drop := func() {
		if len(s.writes.open) == 1 {
			s.writes.open = nil // thousands of machines keep nothing
			return
		}
		s.writes.open = slices.Delete(slices.Clone(s.writes.open), i, i+1)
	}
	if e.Answer == Committed || e.Answer == Conflicted || e.Answer == Refused && e.RetryAfter == 0 {
		s.writes.hears()
	}
	switch e.Answer {
	case Committed:
		drop()
		if e.Version.Revision > s.Lock.Version.Revision {
			s.sight(e.Record, e.Version)
		}
		s.noteStored(w, e.Version.Revision)
		s.resolve()
		s.committed(w, e.Sent)
	case Conflicted:
		drop()
		if w.seen {
			return
		}
		if s.Lock.Version == w.onto || s.Lock.Record == nil {
			// The object has moved on, and we have not seen how.
			s.writes.baffled = true
			s.read()
			if len(s.writes.open) == 0 {
				s.refusal() // the conflict cannot be with a write of ours
			}
		}
	case Refused:
		drop()
		s.backOff(e.RetryAfter)
		if e.RetryAfter == 0 { // a throttling store says nothing about the lock
			s.refusal()
		}
	case Unknown:
		if s.passed(w) {
			drop()
			return
		}
		s.writes.open = slices.Clone(s.writes.open)
		s.writes.open[i].unknown = true
		s.backOff(0)
		s.read()
	default:
		panic(fmt.Sprintf("machine: %s: outcome %d", s.cfg.Election, e.Answer))
	}
}

// passed says whether the version that the write was conditional on is history. Then the write is visible by
// now, or will never be (rule sending-counts).
func (s *step) passed(w write) bool {
	if w.onto.IsZero() {
		return s.Lock.Record != nil
	}
	return s.Lock.Record == nil || s.Lock.Version.UID != w.onto.UID || s.Lock.Version.Revision > w.onto.Revision
}

// resolve finds out what became of writes without a reply, now that more is known.
func (s *step) resolve() {
	for _, w := range s.writes.open {
		if !s.passed(w) {
			continue
		}
		won := s.Lock.Owner == Mine && s.Lock.Record.Mark.Beat == w.beat
		i := slices.IndexFunc(s.writes.open, func(o write) bool { return o.beat == w.beat })
		s.writes.open = slices.Clone(s.writes.open)
		if w.unknown {
			s.writes.open = slices.Delete(s.writes.open, i, i+1)
		} else {
			s.writes.open[i].seen = won
		}
		switch {
		case won && s.altered:
			s.backOff(0) // it is stored, and is not what was sent: nothing follows from it (rule sending-counts)
		case won:
			if s.source != Stream {
				w.seamless = false // it may be a copy that a stranger put back: only a reply and the stream tell the revision
			}
			s.noteStored(w, s.Lock.Version.Revision)
			s.committed(w, w.asked)
		}
	}
}

// LastBeat is the number of the last write that we asked for.
func (s *State) LastBeat() uint64 { return s.writes.last }

// TakesByRecord says whether a take or claim by record is under way, or has an unknown outcome. Our session would not
// keep that lock alive, so its end would not free the lock.
func (s *State) TakesByRecord() bool {
	return slices.ContainsFunc(s.writes.open, func(w write) bool {
		return (w.purpose == Take || w.purpose == Claim) && !w.throughSession
	})
}
