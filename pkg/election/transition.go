package election

import "github.com/primacy-dev/primacy/pkg/election/internal/member"

// Event is what a Transition tells.
type Event int

const (
	// EventRole: this member's role changed, for the Reason.
	EventRole Event = iota + 1
	// EventLeader: another leader, or none, is seen.
	EventLeader
	// EventJeopardy: renewals fail, and half of the outage that a term survives is over. What
	// is cached on the strength of the term should not be relied on from here on.
	EventJeopardy
	// EventFailOpen: renewals fail, and the term goes on although its work would be stopped by
	// now without `outage: failopen`.
	EventFailOpen
	// EventRegained: after EventJeopardy the term was renewed; it was never interrupted.
	EventRegained
	// EventLost: the term ended, for the Reason, and this member did not give it up. What was
	// cached during it must be dropped.
	EventLost
)

func (e Event) String() string {
	switch e {
	case EventRole:
		return "role"
	case EventLeader:
		return "leader"
	case EventJeopardy:
		return "jeopardy"
	case EventFailOpen:
		return "failopen"
	case EventRegained:
		return "regained"
	case EventLost:
		return "lost"
	}
	return "invalid"
}

// eventOf is what tells of what became of a term's renewals.
func eventOf(n member.Notice) Event {
	switch n {
	case member.Jeopardy:
		return EventJeopardy
	case member.FailOpen:
		return EventFailOpen
	}
	return EventRegained
}
