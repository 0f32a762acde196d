package machine

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Work that kills its process would run through all members within a second if each of them took the lock as
// soon as the death of the last holder is proved. So members note how many holders in a row died soon after they
// took it, and leave the lock alone for longer each time.

// falls is how many terms in a row a proved death has ended soon after their start, up to the last one.
func (s *step) falls() int16 {
	l := s.Lock
	if l.Owner != Orphaned {
		return 0
	}
	death, proved := s.deathOf(l.Record)
	// Both times are of the dead member's host.
	if !proved || death.At.Sub(l.Record.Acquired) >= max(s.cfg.Timing.MinHold, s.cfg.Timing.LeaseDuration) {
		return 0
	}
	return min(s.beside(l.Record).Falls, mostFalls) + 1
}

// mostFalls is far more than the number of falls at which the delay stops growing.
const mostFalls = 1000

// recovery is how long we leave a lock alone after such falls: the first has no cost.
func (s *step) recovery() time.Duration {
	n := int(s.falls()) - 2
	if n < 0 {
		return 0
	}
	return min(record.Doubled(s.cfg.Timing.RenewInterval, n), s.cfg.Timing.LeaseDuration)
}

// freedByProof says whether a proof frees a record that its holder renewed itself (rule proof-not-patience). Only a
// proof that names the holder does: a session that has ended otherwise says nothing of who renews the record. A write
// of the dead that is stored late bears its identity, so it is free as well. Words do not count, since beats of the
// session are not the only sign of life here. A range ends when it ends. A lock that foreign electors share, and one
// whose terms fail open, keep their waits.
func (s *step) freedByProof(r *record.Record) bool {
	death, proved := s.deathOf(r)
	return proved && !death.Proof.IsWord() && s.cfg.OnDeath != OnDeathLease &&
		!s.cfg.Range && s.cfg.Outage.Mode != OutageFailOpen && r.Claim == nil && !s.mayBeForeign()
}

// OnDeath says when a lock is free whose holder was proved dead.
type OnDeath string

const (
	// OnDeathProof: at once.
	OnDeathProof OnDeath = "proof"
	// OnDeathLease: after a lease, as if nothing had been proved. It is for work that goes on outside the member.
	OnDeathLease OnDeath = "lease"
)

// spared is until when a lock whose holder was proved dead is left alone with OnDeathLease: a lease from our first
// sight of its end, which came after the holder's last beat. It is the same if a stranger edited the proof, so that it proves
// nothing any more.
func (s *step) spared(r *record.Record) record.Instant {
	if s.cfg.OnDeath != OnDeathLease {
		return 0
	}
	if _, told := s.toldDeathOf(r); !told && !s.deathForgotten(r) {
		return 0
	}
	return s.now.Add(s.observer().ObserverWait(max(s.observer().LeaseDuration, s.beside(r).Duration)))
}

// deathForgotten says whether the holder of a record may have been proved dead although its slot does not tell: later
// members used the slot, and it tells of its last few dead only.
func (s *step) deathForgotten(r *record.Record) bool {
	o := s.View.Sessions[s.beside(r).Session]
	return o.Holder != r.Holder && len(o.Deaths) >= record.MostDeaths
}

// deathOf is the proved death of the holder of a record.
func (s *step) deathOf(r *record.Record) (record.Death, bool) {
	d, told := s.toldDeathOf(r)
	return d, told && d.UID != ""
}

// toldDeathOf is the death of the holder of a record as its slot tells, proved or not.
func (s *step) toldDeathOf(r *record.Record) (record.Death, bool) {
	m := s.beside(r)
	o := s.View.Sessions[m.Session]
	if o.UID != m.SessionUID {
		return record.Death{}, false
	}
	for _, d := range o.Deaths {
		if d.Identity == r.Holder {
			return d, true
		}
	}
	return record.Death{}, false
}
