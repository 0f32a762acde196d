package election

import (
	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// sawBeat takes in what the realm's own stream shows of a session. A beat of ours extends
// all that our session renews; who has no use for it now is told before its next event.
func (r *realm) sawBeat(e lock.Entry) {
	seen, ours := r.own.Seen(r.cfg.Clock.Now(), e.Name, e.Record, e.Version)
	if !ours || seen.Sent <= r.beat.Sent {
		return
	}
	r.beat, r.answered = seen, 0
	var event machine.Event = seen // made once, for all contests
	r.contests.each(func(c *contest) {
		if c.state.NeedsBeats() {
			r.handle(c, event)
		}
	})
}

// tendSight gives this incarnation up when it holds locks through its session and has not
// seen a beat for so long that others would have taken them, had the beats not been
// stored: a member that is blind does no work, and must not keep others from it. Where a
// term fails open it may be the store that is away, so the store must have answered.
func (r *realm) tendSight(now record.Instant) {
	r.sightNext = 0
	if r.leaving != "" || r.beat.Sent == 0 {
		return
	}
	lease := r.cfg.Timing.LeaseDuration
	at := r.beat.Sent.Add(2 * lease)
	if r.outlasting() {
		if r.answered == 0 {
			return // an answer wakes us, and so does the end of that term
		}
		at = max(at, r.answered.Add(lease))
	}
	if now < at {
		r.sightNext = at
		return
	}
	for _, c := range r.contests.all {
		if c.holdsThroughSession() {
			r.log.Warn("our own beats are not seen; the session is given up, and the member comes back under a new identity")
			r.leave(machine.ReasonBlind)
			return
		}
	}
}

// outlasting says whether a term is on that an outage does not end.
func (r *realm) outlasting() bool {
	for c := range r.open {
		if c.state.Role == machine.Leading {
			return true
		}
	}
	return false
}

// answeredFor takes in that the store answered what was asked for our session. It counts once
// the stream has been silent for so long that the term would be in doubt.
func (r *realm) answeredFor(a answer) {
	silence := a.sent.Sub(r.beat.Sent)
	if a.outcome != lock.Unknown && r.answered == 0 && silence >= r.cfg.Timing.LeaseDuration {
		r.answered = a.sent
	}
}

func (c *contest) holdsThroughSession() bool {
	l := &c.state.Lock
	return l.Owner == machine.Mine && l.Record.ThroughSession()
}

// stray takes up a lock that this incarnation holds although it takes part in no election
// for it: a write that was given up was carried out after all. It is released (rule 15);
// nothing else would free it while our session lives.
func (r *realm) stray(s *stream, e lock.Entry) *contest {
	rec := e.Record
	if rec == nil || rec.Holder != r.identity || !rec.Bound() || !rec.ThroughSession() || r.leaving != "" {
		return nil
	}
	// Only what we wrote ourselves: a stranger's copy of one of our locks is none of ours.
	if b := rec.Mark.Beat; b == 0 || b > r.beats[lockName{s.store, e.Name}] || rec.Mark.SessionUID != r.beat.UID {
		return nil
	}
	spec := Spec{Name: rec.Election, Lock: e.Name, Locks: s.store}
	if err := spec.complete(r.cfg); err != nil {
		r.log.Warn("a lock that this member holds cannot be released; its session ends instead", zap.String("lock", e.Name), zap.Error(err))
		r.ending = machine.ReasonHeldOn
		return nil
	}
	r.log.Warn("releasing a lock of an election that this member does not take part in", zap.String("lock", e.Name))
	entrant := &entrant{spec: spec, status: newStatus(spec.Name, r.cfg.Clock), left: make(chan struct{}), removed: true, stray: true}
	c := newContest(r, entrant, spec.lockName())
	r.contests.add(c)
	s.byLock[e.Name] = c
	r.resign(c, machine.ReasonRemoved)
	return c
}

// answering says whether a lock of the election is being released that strayed.
func (r *realm) answering(e *entrant) bool {
	for _, l := range e.spec.lockNames() {
		if c := r.streamOf(l.store).byLock[l.name]; c != nil && c.entrant.stray {
			return true
		}
	}
	return false
}
