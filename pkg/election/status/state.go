package status

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// State is the state of an election, as its lock says.
type State string

const (
	// Absent: there is no lock object.
	Absent State = "absent"
	// Waiting: the lock was created empty, and members wait before they take it for a first term.
	Waiting State = "waiting"
	// Led: a member of ours holds the lock.
	Led State = "led"
	// Claiming: a member of ours took the lock from an elector that is not Primacy, and
	// waits until that elector has stopped. No member of ours is at work.
	Claiming State = "claiming"
	// Released: the last holder gave the lock up, and anyone may take it.
	Released State = "released"
	// Foreign: an elector that is not Primacy holds the lock.
	Foreign State = "foreign"
	// Unowned: the record names no credible holder. Members wait before they take the lock.
	Unowned State = "unowned"
	// Corrupt: the record cannot be read. Members wait, and then repair it.
	Corrupt State = "corrupt"
)

// stateOf returns the state of a record, and the reason for a bad one.
func stateOf(r *record.Record) (state State, reason string) {
	switch {
	case r == nil:
		return Absent, ""
	case r.Released():
		return Released, ""
	case r.Holder != "" && r.Bound() && r.Claim != nil:
		return Claiming, "waits until " + r.Claim.Identity + " has stopped"
	case r.Holder != "" && r.Bound():
		return Led, ""
	case r.Holder != "" && !record.OurForm(r.Holder):
		return Foreign, "an elector that is not Primacy holds the lock"
	case r.Untouched():
		return Waiting, "created empty; members wait before they take it"
	case r.Unreadable != "":
		return Corrupt, r.Unreadable
	case r.Mark == nil:
		return Unowned, "no member's mark is on it"
	}
	return Unowned, "its mark belongs to another holder or term"
}

// MemberState is the state of a member, as its session says.
type MemberState string

const (
	// Live: the session was renewed within its duration, by the writer's clock.
	Live MemberState = "live"
	// Stale: the session was not renewed; the member may be gone.
	Stale MemberState = "stale"
	// Ended: the session is over for good.
	Ended MemberState = "ended"
	// Unknown: the session cannot be read, or names no member.
	Unknown MemberState = "unknown"
)

func memberStateOf(r *record.Record, now time.Time) MemberState {
	switch {
	case r.Released():
		return Ended
	case !r.Bound() || r.Member == nil:
		return Unknown
	case expired(r, now):
		return Stale
	}
	return Live
}
