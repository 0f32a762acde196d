package session

import (
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// A stranger may put an earlier member's session back over that of a living member, as from a backup (rule a-session-ends-once).
// The living member stops once it sees that, or when its validity runs out. Until then its locks are nobody's.

// robbed is a member over whose session an earlier one was put. It may be at work until then.
type robbed struct {
	identity string
	until    record.Instant
}

// robbedBy returns who may be at work, although the slot does not show it any more once s has replaced before.
func (d *Directory) robbedBy(now record.Instant, before, s *slot, o order) []robbed {
	if before.version.UID != s.version.UID {
		return nil
	}
	all := before.robbed
	if slices.ContainsFunc(all, func(r robbed) bool { return now >= r.until }) {
		all = slices.DeleteFunc(slices.Clone(all), func(r robbed) bool { return now >= r.until })
	}
	if !before.isRobbedBy(s.record, o) {
		return all
	}
	all = slices.DeleteFunc(slices.Clone(all), func(r robbed) bool { return r.identity == before.owner })
	return append(all, robbed{before.owner, now.Add(d.lasts(before))})
}

// isRobbedBy says whether a stranger put r, the session of another member, over that of the slot's owner. A member takes a slot only
// once its last session has ended, which a stream shows. What skips versions may have skipped that end. Then r has more transitions,
// and is no older by the clock of the host that both members share.
func (s *slot) isRobbedBy(r *record.Record, o order) bool {
	switch {
	case s.owner == "" || s.ended || !r.Bound() || r.Holder == s.owner:
		return false
	case r.Holder == "" && (r.Member == nil || r.Member.Identity == s.owner):
		return false // its end
	}
	n := s.stated.transitions
	return o == inOrder || r.Transitions <= n && r.Transitions != record.NextTransitions(n) || r.Renewed.Before(s.record.Renewed)
}

// robbedAt names those that may be at work.
func (s *slot) robbedAt(now record.Instant) (names []string) {
	for _, r := range s.robbed {
		if now < r.until {
			names = append(names, r.identity)
		}
	}
	return names
}
