package election

import (
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// sight is whether the beats of our session come back in time to be of use. A watch that lags,
// or that shows what happened in bursts, leaves gaps between them in which no term can go on,
// while others see that we live and leave our locks to us.
type sight struct {
	// dimSince is when the first of the gaps began; zero while there are none.
	dimSince record.Instant
	// seenAt is when the last beat came back, and clearAt when the last gap is forgotten.
	seenAt, clearAt record.Instant
}

func (s *sight) clear() bool { return s.dimSince == 0 }

// dims takes in that a beat has come back. A term could rely on the beat before until reach,
// which is zero if there was none. dims returns true if a gap ends now that is not the first,
// and the first began a leaseDuration ago or earlier.
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

// sawBeat takes in what the realm's own stream shows of a session. A beat of ours extends
// all that our session renews. A contest without use for it now gets it with its next event.
func (r *realm) sawBeat(e lock.Entry) {
	now := r.cfg.Clock.Now()
	switch {
	case e.Record == nil:
		delete(r.heard, e.Name)
	case e.Record.Bound() && e.Record.Holder != "":
		r.heard[e.Name] = sign{e.Record.Holder, now}
	}
	seen, ours := r.own.Seen(now, e.Name, e.Record, e.Version)
	if !ours || seen.Sent <= r.beat.Sent {
		return
	}
	if r.sight.dims(now, r.reach(), r.cfg.Timing) {
		r.blind("our own beats come back too late, again and again")
	}
	if r.silent(now) {
		r.soundSince = now
	}
	r.beat, r.answered = seen, 0
	var event machine.Event = seen // made once, for all contests
	r.contests.each(func(c *contest) {
		if c.state.NeedsBeats() || c.failsOpen() {
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
	if len(r.dimmed) > 0 && now < r.reach() {
		r.brighten()
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
	r.sightNext = now.Add(lease)
	r.blind("our own beats are not seen")
	if r.ending != "" {
		r.leave(r.ending)
	}
}

// blind gives this incarnation up for want of sight, if it holds locks through its session. A term
// that fails open would end with it, so beside one the locks are let go one by one.
func (r *realm) blind(why string) {
	if r.leaving != "" || r.ending != "" || !slices.ContainsFunc(r.contests.all, (*contest).holdsThroughSession) {
		return
	}
	if r.outlasting() {
		r.dim(why)
		return
	}
	r.log.Warn(why + "; the session is given up, and the member comes back under a new identity (is the API server, or the network to it, overloaded?)")
	r.ending = machine.ReasonBlind // leaving touches every contest, so it waits for attend
}

// dim lets go what our session keeps ours without work: no beat is needed for that, only answers to
// writes. It takes none of it back before a beat comes back in time to work by; then others come first.
func (r *realm) dim(why string) {
	for _, c := range r.contests.all {
		if c.holdsThroughSession() && c.outer == nil && c.state.Role != machine.Leading && !r.dimmed[c] {
			if len(r.dimmed) == 0 {
				r.log.Warn(why + "; elections whose terms do not fail open are left to others (is the API server, or the network to it, overloaded?)")
			}
			r.dimmed[c] = true
			r.handle(c, machine.Paused{Reason: machine.ReasonBlind})
		}
	}
}

// brighten has this member take part again in what was let go for want of sight.
func (r *realm) brighten() {
	for c := range r.dimmed {
		delete(r.dimmed, c)
		r.handle(c, machine.Resumed{})
	}
}

// reach is until when a term may rely on the last beat that was seen.
func (r *realm) reach() record.Instant {
	if r.beat.Sent == 0 {
		return 0
	}
	return r.beat.Sent.Add(r.cfg.Timing.Validity() - r.cfg.Timing.StopGrace)
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
