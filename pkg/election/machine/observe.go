package machine

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// observe takes in what somebody showed of the lock.
func (s *step) observe(e Observed) {
	if s.ended {
		return
	}
	if !s.Lock.Seen {
		s.Lock.Seen = true
		s.sight(e.Record, e.Version)
		s.Lock.streamed = e.Version
		return
	}
	known := s.Lock.Version
	switch {
	case e.Version.Revision == 0:
		// A read of an absent object has no version. It counts only if it was sent after
		// all that was seen: nothing would ever correct a wrong absence.
		if e.Sent > s.Lock.at && s.Lock.Record != nil {
			s.sight(nil, record.Version{Revision: known.Revision})
			s.resolve()
			return
		}
		s.wonder()
		return
	case e.Version.Revision < known.Revision, e.Version.Revision == known.Revision && e.Version != known:
		switch {
		case e.Source == Stream:
			s.skipped(e)
		case e.Sent > s.Lock.at:
			s.restored(e)
		default:
			s.wonder()
		}
		return
	case e.Version.Revision == known.Revision:
		s.Lock.at = s.now
		if e.Source == ReadBack {
			s.wonder()
			return
		}
		s.missed(e)
		s.Lock.streamed = e.Version
		return
	}
	s.missed(e)
	s.sight(e.Record, e.Version)
	if e.Source != ReadBack {
		s.Lock.streamed = e.Version
	}
	s.resolve()
}

// missed starts the wait for an unknown owner anew after a break of the stream in which
// the object changed: what happened nobody saw, and an owner may have been among it. A
// read that ran ahead of the stream is no sight of what it skipped (rule 13).
func (s *step) missed(e Observed) {
	if e.Source == List && s.Lock.Owner == Unowned && e.Version != s.Lock.streamed {
		s.Lock.since = s.now
	}
}

// wonder paces writes when the object still is what it was, although a write that was
// conditional on just that was rejected.
func (s *step) wonder() {
	if s.baffled {
		s.backOff(0)
	}
}

// sight makes an object, or its absence, what is known of the lock, and starts the
// clocks that the change starts.
func (s *step) sight(r *record.Record, v record.Version) {
	before, owner := s.Lock, s.ownerOf(r)
	k := &s.Lock
	k.foreignRelease = owner == Unowned && s.releasedByForeign(r, v)
	if k.foreignRelease {
		owner = Free
	}
	k.Record, k.Version, k.Owner, k.at = r, v, owner, s.now
	s.baffled = false

	sameObject := before.Record != nil && r != nil && before.Version.UID == v.UID
	switch owner {
	case Mine, Other:
		// Rule 3: only a new beat of the holder is a change, and only beside it a
		// duration counts.
		if !sameObject || before.Owner != owner || !sameBeat(before.Record, r) {
			k.changedAt = s.now
			k.duration = r.Mark.Duration
		}
	case Free:
		if k.foreignRelease {
			s.claimed = record.Claim{} // who released has stopped
			if !before.foreignRelease {
				k.since = s.now
			}
			break
		}
		if !sameObject || before.Owner != Free || before.foreignRelease || !sameBeat(before.Record, r) {
			k.since = s.now
			k.duration = r.Mark.Duration
		}
	case Foreign:
		if !sameObject || before.Owner != Foreign || !sameForeignBeat(before.Record, r) {
			k.changedAt = s.now
			k.duration = r.Duration
			s.claimed = record.Claim{Identity: r.Holder, Transitions: r.Transitions, Duration: max(r.Duration, s.cfg.Timing.LeaseDuration)}
			s.claimedAt = s.now
		}
	case Nobody:
		if before.Owner != Nobody {
			k.since = s.now
		}
	case Unowned:
		// Rule 13: another uid or an owner in between starts the wait anew, the edits
		// of strangers do not.
		if !sameObject || before.Owner != Unowned {
			k.since = s.now
		}
	}
	if owner == Other {
		s.forgive(r.Holder)
	}
	if owner == Mine || owner == Other || owner == Free {
		s.seeClaim(r)
	}
	if owner == Foreign {
		k.shared = true
	}
	if owner == Other || owner == Foreign || owner == Free {
		s.heldUntil = 0 // we are no longer the last holder
	}
	if owner != before.Owner {
		s.alarmed = 0
	}
}

// skipped takes in what the stream shows of the time before a read or a reply. It is
// history, but an owner among it starts the wait anew (rule 13): it may be at work.
func (s *step) skipped(e Observed) {
	k := &s.Lock
	if e.Version.Revision <= k.streamed.Revision {
		return
	}
	duration := time.Duration(0)
	switch s.ownerOf(e.Record) {
	case Other, Free:
		duration = e.Record.Mark.Duration
		s.seeClaim(e.Record)
	case Foreign:
		duration, k.shared = e.Record.Duration, true
		s.claimed = record.Claim{Identity: e.Record.Holder, Transitions: e.Record.Transitions, Duration: max(duration, s.cfg.Timing.LeaseDuration)}
		s.claimedAt = s.now
	default:
		return
	}
	s.heldUntil = 0
	if k.Owner == Unowned || k.Owner == Nobody {
		k.since, k.duration = s.now, duration
	}
}

func sameBeat(a, b *record.Record) bool {
	return a.Mark.Identity == b.Mark.Identity && a.Mark.Transitions == b.Mark.Transitions && a.Mark.Beat == b.Mark.Beat
}

func sameForeignBeat(a, b *record.Record) bool {
	return a.Holder == b.Holder && a.Transitions == b.Transitions &&
		a.Renewed.Equal(b.Renewed) && a.Acquired.Equal(b.Acquired)
}

func (s *step) ownerOf(r *record.Record) Owner {
	switch {
	case r == nil:
		return Nobody
	case r.Holder == "" && r.Bound():
		return Free
	case r.Holder != "" && r.Bound():
		// Rule 9: our name under a beat that we never sent is somebody else.
		if r.Holder == s.cfg.Member.Identity && 0 < r.Mark.Beat && r.Mark.Beat <= s.Beat {
			return Mine
		}
		return Other
	case r.Holder != "" && !record.OurForm(r.Holder):
		// Whatever our annotations say under it means nothing (rules 8, 16).
		return Foreign
	}
	return Unowned
}

// resolve finds out what became of writes without a reply, now that more is known.
func (s *step) resolve() {
	for _, w := range s.writes {
		if !s.passed(w) {
			continue
		}
		won := s.Lock.Owner == Mine && s.Lock.Record.Mark.Beat == w.beat
		i := slices.IndexFunc(s.writes, func(o write) bool { return o.beat == w.beat })
		s.writes = slices.Clone(s.writes)
		if w.unknown {
			s.writes = slices.Delete(s.writes, i, i+1)
		} else {
			s.writes[i].seen = won
		}
		if won {
			s.retryAt = 0
			s.committed(w, w.asked)
		}
	}
}

// restored: a consistent read shows an earlier state than was known, so the store was
// reset to a backup and nothing that we hold in mind is true (rule 14). Nothing that is
// seen from here on is acted upon: this incarnation only stops its work.
func (s *step) restored(e Observed) {
	wait := s.now.Add(s.cfg.Timing.ObserverWait(max(s.cfg.Timing.LeaseDuration, s.Lock.duration)))
	s.act(EndSession{Reason: ReasonRestored, NotBefore: wait})
	s.ended = true
	s.Lock = Lock{Seen: true, Record: e.Record, Version: e.Version, Owner: Unowned, at: s.now, since: s.now}
	s.writes = nil
	s.heldUntil = 0
	if s.Role == Leading {
		s.stop(ReasonRestored)
	}
	s.Drain.Lost = true
	if s.leaving == "" {
		s.leaving, s.leavingSince = ReasonRestored, s.now
	}
}
