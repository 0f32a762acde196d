package rollout

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Seen is what the controller sees of its group at one moment. It must be whole: what is
// missing counts as gone.
type Seen struct {
	// Elections are all that the group has, in any order.
	Elections []Election
	// Own is the name of the controller's own election, which moves last. As long as it is
	// not among Elections the sight is not believed.
	Own string
	// Members are all that live, the controller's own among them.
	Members []Member
	// Failures are what the checks find at this moment.
	Failures []Failure
	// Default is what the default source says.
	Default record.Preferred
	// Divided are identities of members that live and publish another digest of the
	// preference than the controller's.
	Divided []string
}

// Election is what is seen of one election.
type Election struct {
	Name string
	// Holder leads, and Revision is its own; both are empty while nobody leads.
	Holder, Revision string
	// Canary is the identity of the member of the canary that would lead: it takes part, lives,
	// is ready and in good standing, and the election's policy moves leadership to it. Empty if
	// there is none.
	Canary string
	// Pinned elections are left alone.
	Pinned bool
	// Follows says whether the election goes by revisions. No rollout moves or counts one that
	// Ignores them.
	Follows Following
	// HeldUntil is until when its holder keeps it whatever is preferred: for minHold, or until
	// the preference became what it is. Zero if nobody knows of either.
	HeldUntil time.Time
	// Delay is how long it may take after that until the canary leads, although nothing is
	// wrong: preemptDelay, a range that ends, an elector that is not ours and must have stopped.
	Delay time.Duration
	// Lost are the last times, of those in the lock's history, at which a member of the canary
	// lost it although it did not want that, oldest first.
	Lost []time.Time
}

// Following is whether an election goes by revisions.
type Following int

const (
	// ByRevision: it does. It is the zero value, as it is the policy that applies where none
	// is named.
	ByRevision Following = iota
	// Ignores: it does not.
	Ignores
)

// overdueFrom is the instant from which an election on its way is waited for: now, or later
// where its holder may rightly keep it.
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
	// Standing are elections in which its runners failed lately.
	Standing []string
	// Duration is how long its session lasts without a renewal.
	Duration time.Duration
	// Heard is how long ago its last renewals were seen, by the controller's own clock, latest
	// first: all within a Duration of the latest, and the one before those.
	Heard []time.Duration
}

// Silent is for how long no renewal was seen; zero where nobody looked for any.
func (m Member) Silent() time.Duration {
	if len(m.Heard) == 0 {
		return 0
	}
	return m.Heard[0]
}

// LongestSilence is the longest time without a renewal that reaches into the last part of that
// length. What is not known of it counts as silence.
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

// Next is what follows from a look.
type Next struct {
	Status Status
	Events []Event
	// Wake is when to look again although nothing changed; zero for never.
	Wake time.Time
}

// Event is something that happened, for logs and metrics.
type Event struct {
	Kind EventKind
	// Step is that of the status after it.
	Step  int
	Phase Phase
	// Elections are those that it is about.
	Elections []string
	// Failure is set in Failed.
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
	// Failed: a check found something that it had not found before.
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
