package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
)

// Fault is something that goes wrong, or an effect of such a thing that must occur in the sweep of seeds.
type Fault int

const (
	Crash Fault = iota
	Pause
	Leave
	WritesOut
	ReadsOut
	Partition
	Outage
	Stall
	CutResumed
	CutRelisted
	LockDeleted
	LockEdited
	LabelStorm
	Ambush
	SessionDeleted
	SessionEdited
	PreferenceFlipped
	Reconfigured
	RunnerFailed
	Unready
	ElectorCrash
	ElectorPause
	ElectorLeave
	ElectorCutOff
	Restored
	LockPutBack
	Silence
	Denied
	LockHangs
	SessionDenied
	OperatorSpoke
	HolderRobbed
	NameDenied

	// Fates of single requests.
	RequestLost
	ReplyLost
	ReplySlow
	RequestSlow
	RequestLate
	Refused
	Throttled

	// Edits by strangers.
	MarkRemoved
	MadeUnreadable
	TokenEdited
	HolderBlanked
	HolderRenamed
	HolderForeign
	DurationEdited
	TransitionsEdited
	LabelsEdited
	HandoverEdited
	HolderAndMarkBlanked
	EditUndone
	SessionRelabelled
	SessionLastsEdited
	SessionPutBack
	SessionBeatRaised

	// Effects.
	CommittedLate
	ShownLate
	MissedByList
	RelistFailed
	TrialFailed
	RelistAhead
	RelistBehind
	HeldLockDeleted
	SessionLost
	SessionEnded
	Buried
	RelicLeft
	RecordFreed
	RelicFreed
	LeftForALease
	Forced
	WordSaid
	WordRefused
	WordOfAnother
	WordUnlisted
	WordRefuted
	BuriedOnWord
	BuriedHalfDead
	BuriedAlive
	OverlapByWord
	OverlapUnknowing
	LeftToRecover
	Rejoined
	Left
	Added
	Removed
	Orphaned
	KilledAtDeadline
	ProcessEnded
	SlowToStop
	StoppedLate
	NomineePassedOver
	DividedPreference
	ForeignLed
	ForeignReleased
	ForeignStole
	OverlapByTheft
	ReleasedAtWork
	BlankedByForeign
	TakenThroughSession
	TakenFromEnded
	LeftBlind
	StrayReleased
	HeldOn
	RolloutWord
	RolloutStep
	RolloutLate
	RolloutDone
	RolloutTakenBack
	Burst
	HeldUp
	TimerBehindBurst
	SilentStream
	LocksGiven
	TurnedAround
	MovedBack
	RangeGiven
	GivenLate
	DeletedForNewcomer
	ListSkipped
	TakenFresh
	SettingsGiven
	Exchanged
	OverlapHalfway
	faults
)

var faultNames = [...]string{
	"crash", "pause", "leave", "writes out", "reads out", "partition", "outage", "stall", "cut, resumed", "cut, listed",
	"lock deleted", "lock edited", "label storm", "ambush", "session deleted", "session edited", "preference flipped", "reconfigured",
	"runner failed", "unready", "elector crash", "elector pause", "elector leaves", "elector cut off", "store restored", "lock put back", "silence of the store", "write of one lock refused", "write of one lock hangs", "write of a session refused", "operator's word on a preference", "holder robbed by a former record",
	"name denied to a watch", "request lost", "reply lost", "reply slow", "request slow", "request late", "refused", "throttled",
	"mark removed", "made unreadable", "token edited", "holder blanked", "holder renamed", "holder foreign", "duration edited",
	"transitions edited", "labels edited", "handover edited", "holder and mark blanked", "edit undone",
	"session relabelled", "session duration edited", "session put back", "beat of a session raised",
	"committed late", "shown late", "missed by list", "list beside a watch failed", "trial list failed", "list ahead of its watch", "list behind its watch", "held lock deleted", "session lost", "session ended", "session buried", "lock that another elector left", "record freed by a proof", "same, once another elector's", "left alone for a lease",
	"handover forced", "word said", "word refused", "word beside another member", "word that is not accepted", "word refuted", "buried on a word", "same, half-dead", "same, alive", "overlap by a false word", "same, by a lock put back unseen", "left to recover", "rejoined", "left",
	"election added", "election removed", "work orphaned", "killed at deadline", "process ended", "slow to stop", "stopped late",
	"nominee passed over", "divided preference",
	"elector led", "elector released", "elector stole", "overlap by theft", "released at work", "blanked by an elector",
	"taken through session", "taken from an ended session", "left blind", "stray released", "held on",
	"operator's word on a rollout", "rollout step", "late write of a controller refused", "rollout done", "rollout taken back",
	"burst taken in at once", "process held up", "timer behind a burst", "silent stream begun anew", "locks given", "move taken back", "moved back", "range given",
	"election given late", "deleted for a newcomer", "absence known without a list", "fresh lock taken at once",
	"settings given", "exchanged during its term", "overlap before all fail open",
}

var _ = [1]struct{}{}[len(faultNames)-int(faults)] // each fault has a name

func (f Fault) String() string {
	if 0 <= f && f < faults {
		return faultNames[f]
	}
	return fmt.Sprintf("Fault(%d)", int(f))
}

// Coverage counts what one run or many runs met.
type Coverage struct {
	// Seen counts the times that each Fault took effect.
	Seen [faults]int
	// Transitions counts the role changes of machines, as "role: reason".
	Transitions map[string]int
	// Terms counts started terms, Moves those that started in calm.
	Terms, Moves int
	// Excused counts the overlaps that docs/ranges.md allows to terms that fail open.
	Excused int
	// LongestGap is the longest time in calm for which an election had no leader, as a fraction of
	// livenessBound.
	LongestGap float64
}

func (c *Coverage) saw(f Fault) { c.Seen[f]++ }

func (c *Coverage) changed(to member.Changed) {
	if c.Transitions == nil {
		c.Transitions = map[string]int{}
	}
	c.Transitions[to.Role.String()+": "+string(to.Reason)]++
}

// Add adds the counts of another run.
func (c *Coverage) Add(o Coverage) {
	for f := range o.Seen {
		c.Seen[f] += o.Seen[f]
	}
	if c.Transitions == nil {
		c.Transitions = map[string]int{}
	}
	for t, n := range o.Transitions {
		c.Transitions[t] += n
	}
	c.Terms += o.Terms
	c.Moves += o.Moves
	c.Excused += o.Excused
	c.LongestGap = max(c.LongestGap, o.LongestGap)
}

func (c Coverage) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "terms %d, of them %d in calm; longest gap in calm %.0f %% of its bound; overlaps that are the price of failing open %d\n",
		c.Terms, c.Moves, 100*c.LongestGap, c.Excused)
	for f, n := range c.Seen {
		fmt.Fprintf(&b, "%-24s %d\n", Fault(f), n)
	}
	var transitions []string
	for t := range c.Transitions {
		transitions = append(transitions, t)
	}
	slices.Sort(transitions)
	for _, t := range transitions {
		fmt.Fprintf(&b, "%-44s %d\n", t, c.Transitions[t])
	}
	return b.String()
}
