package controller

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// How long the holder may rightly keep an election that prefers the canary.

// heldUntil is the latest of: the end of minHold of the present term; the end of the successor's probation; the time when the holder began to
// count preemptDelay, which it does anew once it and the successor see the same preference. It is zero if none of them applies.
func (m moment) heldUntil(e election.Spec, entry lock.Entry, patience time.Duration, holder, successor string) (until time.Time) {
	if at := m.eyes.members.ProvenAt(successor); at > m.at {
		until = m.wallAt(at)
	}
	if e.Timing.PreemptDelay > 0 {
		agreed := m.eyes.since
		for _, identity := range []string{holder, successor} {
			agreed = max(agreed, m.agreed(identity, patience))
		}
		until = later(until, m.wallAt(agreed))
	}
	if e.Timing.MinHold == 0 || !m.Lead(entry) {
		return until
	}
	return later(until, m.wallAt(m.began(e, entry)).Add(e.Timing.MinHold))
}

// began is when the present term began, or a little later: when we saw the holder's latest beat, less the time from the take to that beat
// by the holder's own clock. It is no later than our first sight of the term. minHold bounds how far back it goes.
func (m moment) began(e election.Spec, entry lock.Entry) record.Instant {
	began := m.eyes.streams[e.Locks].since[e.Lock].at
	acquired := entry.Record.Acquired
	if beat, ok := m.eyes.pulseOf(entry.Record.Holder); ok && !acquired.IsZero() && !beat.renewed.IsZero() { // a stranger may have removed either
		began = min(began, beat.at.Add(-min(beat.renewed.Sub(acquired), e.Timing.MinHold)))
	}
	return began
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// agreed is since when a member has seen the controller's preference; zero if no such member lives. While the member sees another
// one, agreed moves on with the time in steps of a quarter of the patience, so that the status does not change with each look.
func (m moment) agreed(identity string, patience time.Duration) record.Instant {
	v, known := m.eyes.views[identity]
	switch quarter := patience / 4; {
	case !known:
		return 0
	case v.same || quarter == 0:
		return v.since
	default:
		return v.since.Add(m.at.Sub(v.since) / quarter * quarter)
	}
}

// wallAt is the time of an instant by the wall clock as it is set now.
func (m moment) wallAt(at record.Instant) time.Time { return m.wall.Add(-m.at.Sub(at)) }

// delay is how long a move may take after heldUntil if all is well.
func (m moment) delay(e election.Spec, entry lock.Entry) time.Duration {
	t := e.Timing
	d := t.PreemptDelay
	// The rollout's time-outs allow for the lease duration of sessions; a lock with its own timing
	// may last longer.
	own := max(0, t.LeaseDuration-m.eyes.Timing.LeaseDuration)
	if e.Range {
		own = t.LeaseDuration // the term's range must be over first
	}
	d += own
	if r := entry.Record; r != nil && (r.Claim != nil || r.Holder != "" && !r.Bound()) {
		// A foreign elector must have stopped, twice if it takes the lock back.
		d += 2 * t.ObserverWait(max(r.Duration, e.Foreign.StopsAfter(t.LeaseDuration, r.Duration)))
	}
	return d
}

// complete fills in the defaults of a Spec.
func complete(e election.Spec, c Config) election.Spec {
	if e.Timing == (record.Timing{}) {
		e.Timing = c.Timing
	}
	e.Timing = e.Timing.Filled(c.Timing)
	if e.Policy == nil {
		e.Policy = priority.RevisionLocation{}
	}
	if e.Lock == "" {
		e.Lock = e.Name
	}
	if e.Locks == nil {
		e.Locks = c.Sessions
	}
	return e
}
