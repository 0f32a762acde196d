package machine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Step handles one event at the instant now and decides what follows from it. It panics if the driver
// broke its contract, since going on could mean two at work.
func Step(c Config, before State, now record.Instant, event Event) (State, []Action) {
	return StepInto(nil, c, before, now, event)
}

// StepInto is Step that puts the actions into the memory of room, so that a step need not allocate. The
// caller must be done with the actions before it passes room to another step.
func StepInto(room []Action, c Config, before State, now record.Instant, event Event) (State, []Action) {
	s := newStep(c, before, now)
	s.actions = room[:0]
	s.rely()
	s.learn(event)
	s.decide()
	s.worked()
	s.rewake()
	if s.foreign.isNothing() {
		s.foreign = noForeigners
	}
	return s.State, s.actions
}

func newStep(c Config, before State, now record.Instant) *step {
	if before.foreign == nil {
		before.foreign = noForeigners
	}
	return &step{State: before, cfg: c, now: now}
}

// step is one Step under way.
type step struct {
	State
	cfg     Config
	now     record.Instant
	actions []Action
	next    record.Instant
	// failed: this very event says that the runners failed; expired: that the guard stopped the work.
	failed, expired bool
	// overtaken: this event shows, late, that somebody else held the lock before the version that we know.
	overtaken bool
	// source is how this very event shows the lock; zero if it does not. altered: the event shows a write of
	// ours that the store did not keep as we sent it.
	source  Source
	altered bool
	// showing is the record that the stream shows with this event; nil if it shows none.
	showing *record.Record
	// foreignersCopied: State.foreign is this step's own.
	foreignersCopied bool
}

func (s *step) act(a Action) { s.actions = append(s.actions, a) }

// wakeAt asks for a Tick at the instant, unless the step asks for an earlier one.
func (s *step) wakeAt(at record.Instant) {
	if at > s.now && (s.next == 0 || at < s.next) {
		s.next = at
	}
}

// waits says whether to wait for the instant, and then asks for a Tick at it. A zero instant means to wait
// for an event.
func (s *step) waits(at record.Instant) bool {
	s.wakeAt(at)
	return at == 0 || s.now < at
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

// learn gathers facts and decides nothing. A term begins or is extended here, since that is a fact of the
// write that did it.
func (s *step) learn(event Event) {
	switch e := event.(type) {
	case Tick:
		if s.wake != 0 && s.now >= s.wake {
			s.wake = 0
		}
	case Observed:
		s.jitter, s.source, s.altered = e.Jitter, e.Source, e.Altered
		if e.Source == ReadBack {
			s.writes.reading = false
		} else {
			s.showing = e.Record
		}
		if e.View != nil {
			s.View = e.View
		}
		s.observe(e)
		s.reown()
	case ReadFailed:
		s.writes.reading = false
		s.backOff(0)
		if s.writes.baffled {
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
		// Every step relies on the last beat (rely).
	case PreferenceChanged:
		s.preferredSince = s.now
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
		s.withdrawal.paused = cmp.Or(e.Reason, ReasonPaused)
		s.writes.pause()
	case Resumed:
		s.withdrawal.paused = ""
	case Resign:
		if s.withdrawal.leaving == "" {
			s.withdrawal.leaving, s.withdrawal.since = cmp.Or(e.Reason, ReasonShutdown), s.now
		}
		if e.Reason == ReasonRestored && !s.ended {
			s.setBack(s.Lock.Record, s.Lock.Version)
		}
	default:
		panic(fmt.Sprintf("machine: unknown event %T", event))
	}
}

// decide runs after every event. It depends only on what we know.
func (s *step) decide() {
	s.play()
	if s.answerInTime() {
		s.play()
	}
	if s.withdrawal.leaving != "" && !s.Settled(s.cfg, s.now) {
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

// start begins a term on our own committed write w, sent at the instant sent (rule own-take).
func (s *step) start(w write, sent, deadline record.Instant) {
	s.Cycle++
	s.Term = Term{Token: w.token, UID: s.Lock.Version.UID, Started: s.now, Deadline: deadline, asked: w.asked}
	s.Drain = Drain{}
	s.succession.betterSince = 0
	s.alarmed = 0
	s.wonBack()
	// The first interval is shortened at random so that renewals spread over it.
	interval := s.cfg.Timing.RenewInterval
	s.validity.renewAt = sent.Add(interval/2 + time.Duration(s.jitter*float64(interval/2)))
	s.act(Start{Token: s.Term.Token, Cycle: int(s.Cycle), Deadline: deadline})
	s.become(Leading, ReasonTaken) // after Start: the term is on when the report goes out
}

// stop ends the term; there is no way back (rule stop-before-release).
func (s *step) stop(why Reason) {
	by := min(s.Term.Deadline, s.now.Add(s.cfg.Timing.StopGrace))
	s.Drain = Drain{Reason: why}
	s.act(Stop{Reason: why, By: by})
	s.become(Draining, why)
}
