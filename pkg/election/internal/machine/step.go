package machine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Step takes in one event at the instant now and decides what follows from it. It
// panics where the driver broke its contract, since to go on could mean two at work.
func Step(c Config, before State, now record.Instant, event Event) (State, []Action) {
	return StepInto(nil, c, before, now, event)
}

// StepInto is Step that puts the actions into the memory of room, to allocate nothing at each beat. The
// caller must be done with them before it gives that memory to another step.
func StepInto(room []Action, c Config, before State, now record.Instant, event Event) (State, []Action) {
	s := &step{State: before, cfg: c, now: now, actions: room[:0]}
	s.learn(event)
	s.decide()
	s.rewake()
	return s.State, s.actions
}

// step is one Step under way.
type step struct {
	State
	cfg     Config
	now     record.Instant
	actions []Action
	next    record.Instant
	// failed: this very event says that the runners gave up; expired, that the guard stopped
	// the work.
	failed, expired bool
	// source is the way by which this very event shows the lock; zero where it does not. altered:
	// it shows a write of ours otherwise than that was sent.
	source  Source
	altered bool
}

func (s *step) act(a Action) { s.actions = append(s.actions, a) }

// wakeAt asks for a Tick at the instant, or sooner if somebody else asks for that.
func (s *step) wakeAt(at record.Instant) {
	if at > s.now && (s.next == 0 || at < s.next) {
		s.next = at
	}
}

func (s *step) rewake() {
	if s.next != s.wake {
		s.wake = s.next
		s.act(WakeAt{At: s.next})
	}
}

func (s *step) become(r Role, why Reason) {
	s.Role = r
	s.act(Report{Kind: RoleChanged, Role: r, Reason: why, Token: s.Term.Token})
}

// alarm reports a condition once for as long as it lasts.
func (s *step) alarm(kind ReportKind, detail string) {
	if s.alarmed != kind {
		s.alarmed = kind
		s.act(Report{Kind: kind, Role: s.Role, Detail: detail})
	}
}

// learn gathers facts; nothing is decided here but that a term begins or is extended,
// which are facts of the write that did it.
func (s *step) learn(event Event) {
	switch e := event.(type) {
	case Tick:
		if s.wake != 0 && s.now >= s.wake {
			s.wake = 0
		}
	case Observed:
		s.jitter, s.source, s.altered = e.Jitter, e.Source, e.Altered
		if e.Source == ReadBack {
			s.reading = false
		}
		if e.View != nil {
			s.View = e.View
		}
		s.observe(e)
		s.reown()
	case ReadFailed:
		s.reading = false
		s.backOff(0)
		if s.baffled {
			s.refusal() // a write was rejected, and nobody can say why
		}
	case WriteDone:
		s.jitter = e.Jitter
		s.answered(e)
	case DirectoryChanged:
		if e.View == nil {
			panic(fmt.Sprintf("machine: %s: no directory", s.cfg.Election))
		}
		s.View = e.View
		s.reown()
	case BeatSeen:
		s.beatSeen(e)
	case PreferenceChanged:
		if e.Preferred != s.Preferred {
			s.preferredAt = s.now
		}
		s.Preferred, s.Digest = e.Preferred, e.Digest
	case RunnersStopped:
		if s.Role != Draining || s.Drain.Stopped {
			panic(fmt.Sprintf("machine: %s: runners stopped while %v", s.cfg.Election, s.Role))
		}
		s.Drain.Stopped = true
	case RunnersFailed:
		s.failed = true
	case WorkExpired:
		s.expired = true
	case Paused:
		s.paused = cmp.Or(e.Reason, ReasonPaused)
	case Resumed:
		s.paused = ""
	case Resign:
		if s.leaving == "" {
			s.leaving, s.leavingSince = cmp.Or(e.Reason, ReasonShutdown), s.now
		}
	default:
		panic(fmt.Sprintf("machine: unknown event %T", event))
	}
}

// decide is one switch over the role; it runs after every event and is a function of
// what is known alone.
func (s *step) decide() {
	s.play()
	if s.answerInTime() {
		s.play()
	}
	if s.leaving != "" && !s.Settled(s.cfg, s.now) {
		s.wakeAt(s.givesUpAt(s.cfg))
	}
}

// play does what the role asks for.
func (s *step) play() {
	s.sightless = false
	if s.Role == Leading {
		s.lead()
	}
	if s.Role == Draining {
		s.drain()
	}
	if s.Role == Claiming {
		s.claiming()
	}
	if s.Role == Following {
		s.follow()
	}
}

// retryInterval paces what failed: a quarter of the renewal interval and up to as much
// again, so that members do not retry in step.
func (s *step) retryInterval() time.Duration {
	quarter := s.cfg.Timing.RenewInterval / 4
	return quarter + time.Duration(s.jitter*float64(quarter))
}

func (s *step) backOff(atLeast time.Duration) {
	s.retryAt = s.now.Add(max(atLeast, s.retryInterval()))
}

// mayWrite says whether a write may go out now: one at a time, and paced after failures.
// It asks for a Tick when that will change by itself.
func (s *step) mayWrite() bool {
	if s.reading || slices.ContainsFunc(s.writes, func(w write) bool { return !w.unknown }) {
		return false
	}
	if s.now < s.retryAt {
		s.wakeAt(s.retryAt)
		return false
	}
	return true
}

// maxUnknown bounds the writes of unknown outcome that are kept in mind. To forget one
// is safe: its commit is then recognized as ours, but extends nothing.
const maxUnknown = 16

// put asks for a write on top of the newest version known.
func (s *step) put(p Purpose, r record.Record) {
	s.Beat++
	s.firstBeat = cmp.Or(s.firstBeat, s.Beat)
	if r.Mark != nil {
		r.Mark.Beat = s.Beat
	}
	w := write{purpose: p, beat: s.Beat, asked: s.now, token: r.Token, throughSession: r.ThroughSession()}
	if r.Claim != nil {
		s.claimed = *r.Claim
	}
	if s.Lock.Record != nil {
		w.onto = s.Lock.Version
	}
	kept := s.writes[max(0, len(s.writes)-maxUnknown+1):]
	s.writes = append(slices.Clone(kept), w)
	s.act(Write{Purpose: p, Record: r, If: w.onto, Beat: w.beat})
}

func (s *step) read() {
	if !s.reading {
		s.reading = true
		s.act(Read{})
	}
}

// answered takes in the reply to a write.
func (s *step) answered(e WriteDone) {
	i := slices.IndexFunc(s.writes, func(w write) bool { return w.beat == e.Beat })
	if i < 0 {
		// Forgotten, or passed while of unknown outcome: a second answer would be a
		// driver's bug, but there is nothing to decide.
		return
	}
	w := s.writes[i]
	if e.Outcome == Committed && (e.Record == nil || e.Sent < w.asked || e.Sent > s.now) {
		panic(fmt.Sprintf("machine: %s: write %d committed without a record, or not sent between its request and its reply", s.cfg.Election, e.Beat))
	}
	drop := func() {
		if len(s.writes) == 1 {
			s.writes = nil // thousands of machines keep nothing
			return
		}
		s.writes = slices.Delete(slices.Clone(s.writes), i, i+1)
	}
	switch e.Outcome {
	case Committed:
		drop()
		s.retryAt = 0
		if e.Version.Revision > s.Lock.Version.Revision {
			s.sight(e.Record, e.Version)
		}
		s.resolve()
		s.committed(w, e.Sent)
	case Rejected:
		drop()
		if w.seen {
			return
		}
		if s.Lock.Version == w.onto || s.Lock.Record == nil {
			// The object has moved on and we have not seen how.
			s.baffled = true
			s.read()
			if len(s.writes) == 0 {
				s.refusal() // no write of ours can be what it met
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
		s.writes = slices.Clone(s.writes)
		s.writes[i].unknown = true
		s.backOff(0)
		s.read()
	default:
		panic(fmt.Sprintf("machine: %s: outcome %d", s.cfg.Election, e.Outcome))
	}
}

// passed says whether the version that the write was conditional on is history, so that
// the write is either visible or will never be (rule sending-counts).
func (s *step) passed(w write) bool {
	if w.onto.IsZero() {
		return s.Lock.Record != nil
	}
	return s.Lock.Record == nil || s.Lock.Version.UID != w.onto.UID || s.Lock.Version.Revision > w.onto.Revision
}

// committed takes in that a write of ours is stored, by its reply or by sight, and was
// sent no earlier than the instant sent.
func (s *step) committed(w write, sent record.Instant) {
	if w.purpose != Claim && w.purpose != Take && w.purpose != Renew {
		return
	}
	if s.Lock.Owner != Mine || s.Lock.Record.Token != w.token {
		return // already history
	}
	validUntil := sent.Add(s.cfg.Timing.Validity()) // rule sending-counts: from the send time, always
	if w.throughSession {
		validUntil = s.session.validUntil(s.cfg.Timing)
	}
	s.heldUntil = max(s.heldUntil, validUntil)
	s.renewAt = max(s.renewAt, sent.Add(s.cfg.Timing.RenewInterval))
	s.ranged(w)
	s.denied = false
	switch {
	case s.Role == Leading && s.Term.Token == w.token:
		// Work that slept past its deadline is dead, and stays so (rule dead-by-the-deadline).
		if validUntil > s.Term.Deadline && s.now < s.Term.Deadline {
			s.Term.Deadline = validUntil
			s.act(Extend{Deadline: validUntil})
		}
	case (s.Role == Following || s.Role == Claiming) && w.purpose == Take && s.withdrawn() == "" && s.now < validUntil.Add(-s.cfg.Timing.StopGrace):
		// A write whose term is over starts no second one when its reply comes in.
		if w.token > s.Term.Token {
			s.start(w, sent, validUntil)
		}
	}
}

// start begins a term on its own committed write, sent at the instant sent (rule own-take).
func (s *step) start(w write, sent, deadline record.Instant) {
	s.Cycle++
	s.Term = Term{Token: w.token, UID: s.Lock.Version.UID, Started: s.now, Deadline: deadline, asked: w.asked}
	s.Drain = Drain{}
	s.betterSince = 0
	s.alarmed = 0
	s.claimsLost = 0
	// The first interval is shortened at random so that renewals spread over it.
	interval := s.cfg.Timing.RenewInterval
	s.renewAt = sent.Add(interval/2 + time.Duration(s.jitter*float64(interval/2)))
	s.act(Start{Token: s.Term.Token, Cycle: s.Cycle, Deadline: deadline})
	s.become(Leading, ReasonTaken) // whoever hears of it finds it so
}

// stop ends the term; there is no way back (rule stop-before-release).
func (s *step) stop(why Reason) {
	by := min(s.Term.Deadline, s.now.Add(s.cfg.Timing.StopGrace))
	s.Drain = Drain{Reason: why}
	s.act(Stop{Reason: why, By: by})
	s.become(Draining, why)
}

// standDown lowers this member's standing, doubling while terms stay short (rule no-flapping).
func (s *step) standDown() {
	if s.now.Sub(s.Term.Started) > 2*record.Doubled(s.cfg.Timing.StandDown, s.failures) {
		s.failures = 0
	}
	t := s.cfg.Timing
	s.StandDownUntil = s.now.Add(record.Doubled(t.StandDown, s.failures))
	// Nobody is excluded from a free lock (rule succession), but neither do failing runners make
	// it go round as fast as the store can write: all others go first.
	pause := record.Doubled(max(2*t.NominateDelay, time.Second), s.failures)
	s.pausedUntil = min(s.StandDownUntil, s.now.Add(pause))
	s.failures++
}
