package rollout

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Seen is what the controller sees of its group at one moment. It must be complete: whatever is
// missing counts as gone.
type Seen struct {
	// Elections are all that the group has, in any order.
	Elections []Election
	// Own is the name of the controller's own election, which moves last. Advance decides nothing
	// while Elections lacks it.
	Own string
	// Members are all living members, the controller's own among them.
	Members []Member
	// Since is since when the controller has seen its group without a gap. Nobody can say what could have moved before; zero
	// if there was no gap.
	Since time.Time
	// Failures are what the checks find at this moment.
	Failures []Failure
	// Default is what the default source says.
	Default record.Preferred
	// Paused: the group is paused, so that nothing moves.
	Paused bool
	// Divided lists the identities of living members whose published digest of the preference
	// differs from the controller's.
	Divided []string
	// Behind lists those of Divided whose digest has differed for longer than their session lasts. Members usually need less
	// time to see a change.
	Behind []string
}

// Election is what is seen of one election.
type Election struct {
	Name string
	// Holder leads; Revision is the holder's revision. Both are empty while nobody leads.
	Holder, Revision string
	// Canary is the identity of the member of the canary that would lead: it takes part, lives,
	// is ready and in good standing, and the election's policy moves leadership to it. Empty if
	// there is none.
	Canary string
	// Pinned: the rollout leaves the election alone, since it has a pin.
	Pinned bool
	// Follows says whether the election follows revisions. No rollout moves or counts an election
	// that Ignores them.
	Follows Following
	// HeldUntil is until when the holder may keep the election: the end of minHold, the end of the probation of the canary's
	// member, or the time when the present preference began, whichever is latest. Zero if none applies.
	HeldUntil time.Time
	// Delay is how long the move may take after HeldUntil if all is well: preemptDelay, a range that
	// ends, a foreign elector that must have stopped.
	Delay time.Duration
	// Lost lists when a member of the canary lost the lock against its will, as far as the lock's
	// history goes, oldest first.
	Lost []time.Time
	// StableLost is the same for members of stable.
	StableLost []time.Time
	// Failed lists the members whose last term ended because their work had failed, and which still stand down.
	Failed []string
}

// Following says whether an election follows revisions.
type Following int

const (
	// ByRevision: the election follows revisions. It is the zero value because the default policy
	// does.
	ByRevision Following = iota
	// Ignores: the election does not follow revisions.
	Ignores
)

// overdueFrom returns when the wait for an election on its way begins: now, or later if its holder
// may keep it for a while.
func (e Election) overdueFrom(now Time) Time {
	from := now
	if e.HeldUntil.After(now.Time) {
		from = At(e.HeldUntil)
	}
	return At(from.Add(e.Delay))
}

// Member is what is seen of one living member.
type Member struct {
	Identity, Revision string
	Ready              bool
	// Duration is how long the member's session lasts without a renewal.
	Duration time.Duration
	// Heard lists how long ago, by its own clock, the controller saw the member's last renewals,
	// latest first: all within a Duration of the latest, and one earlier renewal.
	Heard []time.Duration
}

// Silent returns how long ago the controller saw the last renewal; zero if Heard is empty.
func (m Member) Silent() time.Duration {
	if len(m.Heard) == 0 {
		return 0
	}
	return m.Heard[0]
}

// LongestSilence returns the longest time without a renewal that lies, at least in part, within the
// given time before now. Unknown time counts as silence.
func (m Member) LongestSilence(last time.Duration) (longest time.Duration) {
	later := time.Duration(0)
	for _, ago := range m.Heard {
		longest = max(longest, ago-later)
		if later = ago; ago >= last {
			return longest
		}
	}
	return max(longest, last-later)
}

// Next is the result of Advance.
type Next struct {
	Status Status
	Events []Event
	// Wake is when to look again although nothing changed; zero for never.
	Wake time.Time
}

// Event is something that happened, for logs and metrics.
type Event struct {
	Kind EventKind
	// Step and Phase are the status's after the event.
	Step  int
	Phase Phase
	// Elections are the elections that the event concerns.
	Elections []string
	// Failure is set if Kind is Failed.
	Failure Failure
}

// EventKind says what happened.
type EventKind int

const (
	// Began: the first step begins.
	Began EventKind = iota + 1
	// StepBegan: a step begins.
	StepBegan
	// Reached: elections came into reach.
	Reached
	// Acquired: elections are led by the canary.
	Acquired
	// Failed: a check found something new.
	Failed
	// PhaseChanged: the phase is another one.
	PhaseChanged
)

func (k EventKind) String() string {
	switch k {
	case Began:
		return "began"
	case StepBegan:
		return "step began"
	case Reached:
		return "reached"
	case Acquired:
		return "acquired"
	case Failed:
		return "failed"
	case PhaseChanged:
		return "phase changed"
	}
	return "unknown"
}
