package machine

import (
	"fmt"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// Role is what the member does in the election.
type Role uint8

const (
	// Following: no term; it may be waiting for its turn to take the lock.
	Following Role = iota + 1
	// Claiming: the lock is ours, but its former, foreign holder may still be at work.
	Claiming
	// Leading: a term is on and its work may run.
	Leading
	// Draining: the term is over; the work is being stopped, or the lock released.
	Draining
)

func (r Role) String() string {
	switch r {
	case Following:
		return "following"
	case Claiming:
		return "claiming"
	case Leading:
		return "leading"
	case Draining:
		return "draining"
	}
	return fmt.Sprintf("Role(%d)", int(r))
}

// State is all that a member knows of an election. It is a value: Step never writes to
// what its argument points to. Each of its pieces has a file of its own.
type State struct {
	Role Role
	// sightless: we wanted the lock, but had not lately seen a beat of our session.
	sightless bool
	// ended: the store was restored, and nothing that this incarnation knows is true.
	ended bool
	// alarmed is what we reported last, for as long as it lasts.
	alarmed ReportKind
	// Cycle counts the terms of ours.
	Cycle int32
	Lock  Lock
	// Term is the present or last term of ours.
	Term Term
	// Drain describes the end of the term; meaningful while Draining.
	Drain Drain

	// View is what the directory last said of the other members.
	View *View
	// preferredSince is when the preferred revision last changed.
	preferredSince record.Instant
	// jitter is the last random number that an event brought.
	jitter float64

	writes     writes
	validity   validity
	foreign    *foreign
	succession succession
	standing   standing
	withdrawal withdrawal
	// disowned names a lock by its uid, and the beat up to which our writes to it are nobody's; nil for none.
	disowned *record.Disowned
	wake     record.Instant
}

// WakesAt is when the machine wants a Tick; zero for never.
func (s *State) WakesAt() record.Instant { return s.wake }

// Alarm is the condition that we reported last, for as long as it lasts; zero for none.
func (s *State) Alarm() ReportKind { return s.alarmed }

// Term is one tenure of ours.
type Term struct {
	Token   record.Token
	UID     string
	Started record.Instant
	// asked is when we asked for the take that began it.
	asked record.Instant
	// Deadline is until when the work may run.
	Deadline record.Instant
}

// Drain is the end of a term.
type Drain struct {
	Reason Reason
	// Lost says whether the lock is no longer ours, so that we have nothing to release.
	Lost bool
	// Stopped says whether all the work has stopped.
	Stopped bool
	// Cause is what put the better member before us; zero unless Reason is ReasonPreempted.
	Cause priority.Cause
	// To is the hash of the member that the request named, since a name would make each election larger; zero unless
	// Reason is ReasonForced.
	To uint32
}

// Initial is the state of a member that has seen nothing yet.
func Initial() State {
	return State{Role: Following, View: &View{}, foreign: noForeigners}
}

// Continued is Initial for a member that wrote to this lock before; beat is the number of its last write.
// disowned are the writes to this lock that it disowned; zero for none. unshown is what State.Unshown said.
func Continued(beat uint64, disowned record.Disowned, unshown Unshown) State {
	s := Initial()
	s.writes.last = beat
	s.inherit(unshown)
	if disowned != (record.Disowned{}) {
		s.disowned = &disowned
	}
	return s
}
