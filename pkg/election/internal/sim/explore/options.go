package explore

import (
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Options describe a world.
type Options struct {
	Name    string
	Members int
	Timing  record.Timing
	// Faults may happen in any order and at any moment, at most Budget of them in all on one path.
	Faults []Fault
	Budget int
	// Lag is how many ticks requests, their answers and stream events may take without any fault.
	// Everything that arrives within a tick arrives in any order.
	Lag    int
	Clocks Clocks
	// Renewal says what renews terms; their own record by default.
	Renewal record.Renewal
	Beats   Beats
	Start   Start
	// MaxStates ends the exploration at this number of states, before it has closed; zero for no limit.
	MaxStates int
	// Confirm is how many merged worlds to examine after the exploration: the same states must follow from
	// each as from the state that it was merged with.
	Confirm int
}

// tick is the unit of time of every world.
const tick = time.Second

// Tiny is the timing of the smallest world in which everything can happen.
func Tiny() record.Timing {
	return record.Timing{
		LeaseDuration: 4 * tick, RenewInterval: tick, StopGrace: tick, NominateDelay: tick,
		StandDown: tick / 4,
	}
}

// Clocks says how the clocks of members differ.
type Clocks int

const (
	// Alike: all clocks show the same.
	Alike Clocks = iota
	// LastLags: the clock of the last member loses a tick and makes up for it, at any time and any number
	// of times.
	LastLags
)

// Beats says which orders of the events around beats a world tries within a tick.
type Beats int

const (
	// Quiet: one order. The store carries out a session's request, answers it and shows it to all at once,
	// except to members that are cut off or stopped. For locks in a store of their own.
	Quiet Beats = iota + 1
	// Loose: all orders.
	Loose
	// Prompt: a session's request is answered when it reaches the store. The other members are then also
	// shown a beat that says nothing new, if nothing else waits to be shown to them.
	Prompt
)

// Start is how a world begins.
type Start int

const (
	// Fresh: there is no object, and no member has seen anything.
	Fresh Start = iota
	// Settled: the first member has led for long, and all members know the lock and each other's sessions.
	Settled
)

// Fault is what may go wrong, or what people may do.
type Fault int

const (
	// StrayWrite: a write does not arrive within its time-out. It may arrive at any later time, or never.
	StrayWrite Fault = iota + 1
	// SlowWrite: a write and its answer may take a tick more.
	SlowWrite
	// LostReply: the writer does not hear whether its write was stored or rejected.
	LostReply
	// LostRead: a read is not answered.
	LostRead
	// RefusedWrite: a write is refused.
	RefusedWrite
	// Break: a stream breaks and starts over with a list.
	Break
	// Stall: a stream shows nothing until it goes on, at any later time.
	Stall
	// Cut: nothing passes between a member and the store until the link heals.
	Cut
	// Pause: a process is frozen until it goes on; a supervisor guards its work.
	Pause
	// Crash: a process dies; its work goes on for as long as it was granted. It may come back under a new
	// identity at any later time.
	Crash
	// Delete: a stranger deletes the object.
	Delete
	// Blank: a stranger removes the holder's name.
	Blank
	// Edit: a stranger changes something that is not ours.
	Edit
	// Flip: another revision is preferred; members are told of the change one after the other.
	Flip
	// Resign: a member leaves.
	Resign
	// Fail: runners give up.
	Fail
	// StrayBeat: a write of a session does not arrive within its time-out. It may arrive at any later
	// time, or never.
	StrayBeat
	// LostBeatReply: a session does not hear whether its write was stored.
	LostBeatReply
	// DeleteSession: a stranger deletes a session.
	DeleteSession
)

// ofRequest says whether the fault happens to a request.
func (f Fault) ofRequest() bool {
	switch f {
	case StrayWrite, SlowWrite, LostReply, LostRead, RefusedWrite, StrayBeat, LostBeatReply:
		return true
	}
	return false
}

// AllFaults are all faults of worlds in which records are renewed by themselves.
func AllFaults() []Fault {
	var all []Fault
	for f := StrayWrite; f <= Fail; f++ {
		all = append(all, f)
	}
	return all
}

var faultNames = map[Fault]string{
	StrayWrite: "stray write", SlowWrite: "slow write", LostReply: "lost reply", LostRead: "lost read", RefusedWrite: "refused write",
	Break: "break", Stall: "stall", Cut: "cut", Pause: "pause", Crash: "crash", Delete: "delete", Blank: "blank",
	Edit: "edit", Flip: "flip", Resign: "resign", Fail: "fail",
	StrayBeat: "stray beat", LostBeatReply: "lost reply to a beat", DeleteSession: "delete session",
}

func (f Fault) String() string {
	if name, ok := faultNames[f]; ok {
		return name
	}
	return fmt.Sprintf("Fault(%d)", int(f))
}

// mostOfLock is how many changes of the lock a stream may lag behind, and mostQueued how many changes of
// all objects.
const (
	mostOfLock = 3
	mostQueued = 6
)

// settledAt is how many ticks a world gets to settle.
const settledAt = 30

// startOfTime is the instant at which every world begins.
const startOfTime = record.Instant(1000 * tick)

const (
	election  = "work"
	group     = "edge"
	revisionA = "a"
	revisionB = "b"
)

// electionID is the ID of the only election.
const electionID = member.ID(1)

func identity(member, incarnation int) string {
	return record.NewIdentity(name(member), uint32(incarnation)) // #nosec G115 -- bounded by the fault budget
}

func name(member int) string { return fmt.Sprintf("m%d", member+1) }

// digest is the form of a preference that members publish.
func digest(preferred string) string { return "prefers " + preferred }
