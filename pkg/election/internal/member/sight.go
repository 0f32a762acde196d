package member

import (
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// sight says whether the beats of our session come back in time to be of use. If the watch lags, or
// delivers in bursts, it leaves gaps in which no term can rely on a beat. Meanwhile others see that we
// live, and leave our locks to us.
type sight struct {
	// dimSince is when the first of the recent gaps began; zero if there are none.
	dimSince record.Instant
	// seenAt is when the last beat came back, and clearAt is when we forget the last gap.
	seenAt, clearAt record.Instant
}

func (s *sight) clear() bool { return s.dimSince == 0 }

// dims notes that a beat has come back. reach is until when a term could rely on the previous beat; zero if
// there was none. dims returns true if a gap ends now, an earlier gap was the first of a series, and that
// first gap began at least a leaseDuration ago.
func (s *sight) dims(now, reach record.Instant, t record.Timing) bool {
	from := max(reach, s.seenAt)
	gap := reach != 0 && now.Sub(from) >= t.RenewInterval/10 // beats of one burst leave none
	s.seenAt = now
	switch {
	case gap:
		s.clearAt = now.Add(2 * t.LeaseDuration)
		if s.dimSince == 0 {
			s.dimSince = from
			return false
		}
		return now >= s.dimSince.Add(t.LeaseDuration)
	case s.dimSince != 0 && now >= s.clearAt:
		s.dimSince = 0
	}
	return false
}

// tendSight gives this incarnation up if it holds locks through its session and saw no beat for two
// leaseDurations: without our beats in the store, others would have taken these locks by then. A blind
// member does no work, and must not keep others from working. While a term of ours fails open, we must also
// rule out that the store is away: it must have answered.
func (m *Member) tendSight() {
	m.sightNext = 0
	if m.leaving != "" || m.beat.Sent == 0 {
		return
	}
	if len(m.dimmed.list) > 0 && m.now < m.reach() {
		m.brighten()
	}
	lease := m.cfg.Timing.LeaseDuration
	at := m.beat.Sent.Add(2 * lease)
	if m.outlasting() {
		if m.answeredAt == 0 {
			return // an answer wakes us, and so does the end of that term
		}
		at = max(at, m.answeredAt.Add(lease))
	}
	if m.now < at {
		m.sightNext = at
		return
	}
	m.sightNext = m.now.Add(lease)
	m.blind("the watch does not show our own beats")
	if m.ending != "" {
		m.leave(m.ending)
	}
}

// mayHoldThroughSession says whether our session may keep a lock ours: one that we know of, or one whose take had no certain answer
// when we last saw it. We may not see that it was carried out.
func (m *Member) mayHoldThroughSession() bool {
	if slices.ContainsFunc(m.contests.all, func(c *contest) bool { return c.holdsThroughSession() || c.state.MayYetTake() }) {
		return true
	}
	for _, was := range m.gone {
		if was.mayYetTake {
			return true
		}
	}
	return false
}

// blind gives this incarnation up because its beats do not come back, if it may hold locks through its
// session. While a term of ours fails open, that would end it, so blind only releases other locks (dim).
func (m *Member) blind(why string) {
	if m.leaving != "" || m.ending != "" || !m.mayHoldThroughSession() {
		return
	}
	if m.outlasting() {
		m.dim(why)
		return
	}
	m.log.Warn(why + "; giving up the session and coming back under a new identity (is the API server, or the network to it, overloaded?)")
	m.ending = machine.ReasonBlind // leaving touches every contest, so it waits for attend
}

// dim releases the locks that our session holds without a term. A release needs no beats, only an answer
// to its write. dim pauses the contests of these locks until a beat comes back in time for work, so that
// others can take the locks first.
func (m *Member) dim(why string) {
	for _, c := range m.contests.all {
		if c.holdsThroughSession() && c.outer == nil && c.state.Role != machine.Leading && !m.dimmed.has(c) {
			if len(m.dimmed.list) == 0 {
				m.log.Warn(why + "; leaving elections that do not fail open to others (is the API server, or the network to it, overloaded?)")
			}
			m.dimmed.add(c)
			m.handle(c, machine.Paused{Reason: machine.ReasonBlind})
		}
	}
}

// brighten resumes the contests that dim paused.
func (m *Member) brighten() {
	for _, c := range m.dimmed.all() {
		m.dimmed.remove(c)
		m.handle(c, machine.Resumed{})
	}
}

// sightless says whether our beats have not come back for two leaseDurations. Nothing could be done with a lock then.
func (m *Member) sightless() bool {
	return m.beat.Sent != 0 && m.now >= m.beat.Sent.Add(2*m.cfg.Timing.LeaseDuration)
}

// reach is until when a term may rely on the last beat that we saw.
func (m *Member) reach() record.Instant {
	if m.beat.Sent == 0 {
		return 0
	}
	return m.beat.Sent.Add(m.cfg.Timing.Validity() - m.cfg.Timing.StopGrace)
}

// outlasting says whether we have a term that fails open.
func (m *Member) outlasting() bool {
	for c := range m.open {
		if c.state.Role == machine.Leading {
			return true
		}
	}
	return false
}
