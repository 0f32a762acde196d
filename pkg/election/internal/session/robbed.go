package session

import (
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// A stranger may put an earlier member's session back over that of a living member, as from a backup (rule a-session-ends-once).
// The living member stops once it sees that, or when its validity runs out. Until then its locks are nobody's.

// robbedBy returns who may be at work, although the slot does not show it any more once s has replaced before.
func (d *Directory) robbedBy(now record.Instant, before, s *slot, o order) []machine.Robbed {
	if before.version.UID != s.version.UID {
		return nil
	}
	all := before.robbed
	if slices.ContainsFunc(all, func(r machine.Robbed) bool { return now >= r.Until }) {
		all = slices.DeleteFunc(slices.Clone(all), func(r machine.Robbed) bool { return now >= r.Until })
	}
	if now >= d.endOf(before) && d.provenAt >= d.endOf(before) || !before.isRobbedBy(s.record, o) {
		return all
	}
	all = slices.DeleteFunc(slices.Clone(all), func(r machine.Robbed) bool { return r.Identity == before.owner })
	return append(all, machine.Robbed{Identity: before.owner, Until: now.Add(d.lasts(before))})
}

// isRobbedBy says whether a stranger put r, the session of another member, over that of the slot's owner. A member takes a slot only
// once its last session has ended, which a stream shows, or has lapsed. What skips versions may have skipped that end. Then r has more
// transitions, and is no older by the clock of the host that both members share.
func (s *slot) isRobbedBy(r *record.Record, o order) bool {
	switch {
	case s.owner == "" || s.ended || !r.Bound() || r.Holder == s.owner:
		return false
	case r.Holder == "" && (r.Member == nil || r.Member.Identity == s.owner):
		return false // its end
	}
	n := s.stated.transitions
	dated := r.Holder != "" || endedByOwner(r) // else another host wrote the time
	return o == inOrder || r.Transitions <= n && r.Transitions != record.NextTransitions(n) || dated && r.Renewed.Before(s.record.Renewed)
}

// robbedAt are those that may be at work.
func (s *slot) robbedAt(now record.Instant) (all []machine.Robbed) {
	for _, r := range s.robbed {
		if now < r.Until {
			all = append(all, r)
		}
	}
	return all
}
