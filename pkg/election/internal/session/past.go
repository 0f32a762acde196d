package session

import (
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// left is the reason that a session's history has if its own member ended the session.
const left = "left"

// MemberRevision is a member's revision, whether it lives or not. If the member's session is gone, we take
// the latest revision in the sessions of its host; empty if there are none.
func (d *Directory) MemberRevision(identity string) string {
	var latest *slot
	for _, s := range d.hostSlots(record.HostOf(identity)) {
		switch m := s.record.Member; {
		case m == nil:
		case m.Identity == identity:
			return m.Revision
		case latest == nil || s.version.Revision > latest.version.Revision:
			latest = s
		}
	}
	if latest == nil {
		return ""
	}
	return latest.record.Member.Revision
}

// Left says whether a member ended its session itself, as far as the sessions of its host still show.
func (d *Directory) Left(identity string) bool {
	return slices.ContainsFunc(d.hostSlots(record.HostOf(identity)), func(s *slot) bool {
		return slices.ContainsFunc(s.record.History, func(e record.Entry) bool { return e.Who == identity && e.Why == left })
	})
}
