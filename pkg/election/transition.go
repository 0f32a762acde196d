package election

import "github.com/primacy-dev/primacy/pkg/election/internal/member"

// Event is what a Transition tells.
type Event int

const (
	// EventRole: this member's role changed, for the Reason.
	EventRole Event = iota + 1
	// EventLeader: this member sees another leader, or none.
	EventLeader
	// EventJeopardy: renewals fail, and half of the outage that a term survives has passed. From
	// here on, do not rely on what you cached because of the term.
	EventJeopardy
	// EventFailOpen: renewals fail, and the term goes on only because of `outage: failopen`.
	EventFailOpen
	// EventRegained: after EventJeopardy the term was renewed; it was never interrupted.
	EventRegained
	// EventLost: the term ended, for the Reason, and this member did not give it up. Drop what
	// you cached during it.
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

// eventOf returns the event for a notice about a term's renewals.
func eventOf(n member.Notice) Event {
	switch n {
	case member.Jeopardy:
		return EventJeopardy
	case member.FailOpen:
		return EventFailOpen
	}
	return EventRegained
}
