package session

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Over says whether the named session of that owner certainly lives no longer: it has ended, is another's, or is gone; or it has lapsed,
// and the stream has shown a beat of ours that was sent later, so it would have shown one of the owner.
func (d *Directory) Over(name, owner string) bool {
	s := d.slot(name)
	return s == nil || s.owner != owner || s.ended || d.provenAt >= d.endOf(s)
}

// LivesElsewhere says whether the named session is that of a living member of another group, and that member has no open term of the
// elections.
func (d *Directory) LivesElsewhere(now record.Instant, name, owner string, elections ...string) bool {
	s := d.slot(name)
	return s != nil && s.owner == owner && !s.ended && d.isAlien(s) && now < d.endOf(s) && s.member != nil && !slices.ContainsFunc(elections, s.member.KeepsOpen)
}

// ProvenAt returns when the probation of a member ends or has ended; zero if the member never fell, or we do not know it.
func (d *Directory) ProvenAt(identity string) record.Instant {
	for _, s := range d.slots {
		if identity != "" && holderOf(s.record) == identity {
			return d.probationEnds(s)
		}
	}
	return 0
}

// probationEnds is when the probation of the slot's member ends or has ended; zero if the member never fell.
func (d *Directory) probationEnds(s *slot) record.Instant {
	if s.member == nil || s.member.Fallen == 0 {
		return 0
	}
	return s.bornAt.Add(d.probation(s.member.Fallen))
}

// probation is how long we must see a fallen member alive before a lock may move to it.
func (d *Directory) probation(fallen int) time.Duration {
	return record.Doubled(d.timing.StandDown, fallen-1)
}
