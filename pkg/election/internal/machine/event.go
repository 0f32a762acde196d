package machine

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Event is something that happened. The types below are all there are.
type Event interface{ event() }

// Tick: the instant asked for with WakeAt has come.
type Tick struct{}

// Observed: somebody showed the lock object.
type Observed struct {
	Source Source
	// Record is what the object says; nil when it is absent.
	Record  *record.Record
	Version record.Version
	// Sent is when a List or a Read was sent; unused for a Stream.
	Sent record.Instant
	// AbsentSince is since when the stream has shown, without a break, that there is no such lock; zero for
	// since now. It counts with the first observation only (rule absence-counts).
	AbsentSince record.Instant
	// View is what the list that showed the lock says of the directory; nil if that is nothing new. From
	// View, or from an earlier DirectoryChanged, the machine must know at least the sessions that the stream
	// showed before the lock.
	View *View
	// Altered says that the record is a write of ours that the store did not keep as we sent it.
	Altered bool
	// Jitter is a fresh random number in [0, 1).
	Jitter float64
}

// Source is how we saw the lock. We decide takes on Stream and List only; ReadBack resolves our own writes
// (rule unknown-is-waited-out).
type Source int

const (
	// Stream: an event of the watch.
	Stream Source = iota + 1
	// List: the consistent list that a watch begins with, at first or after a break, or that is made beside it.
	List
	// ReadBack: a consistent read of this one object.
	ReadBack
)

// ReadFailed: the answer to a Read will not come.
type ReadFailed struct{}

// WriteDone: a Write was answered, refused or given up.
type WriteDone struct {
	// Beat is the number of the write.
	Beat   uint64
	Answer Answer
	// Record and Version are what a committed write stored, times included.
	Record  *record.Record
	Version record.Version
	// Sent is when the write went out; not before the Write action was returned.
	Sent record.Instant
	// RetryAfter is how long the store wants us to wait; with Refused only.
	RetryAfter time.Duration
	// Jitter is a fresh random number in [0, 1).
	Jitter float64
}

// Answer is what we know of a write after its reply, or after the driver gave it up.
type Answer int

const (
	// Committed: it is stored.
	Committed Answer = iota + 1
	// Conflicted: the object is not the one the write was conditional on.
	Conflicted
	// Refused: not permitted, throttled, invalid or never sent; the object may be unchanged.
	Refused
	// Unknown: it may be stored, now or later.
	Unknown
)

// DirectoryChanged: other members came, went or published something.
type DirectoryChanged struct{ View *View }

// BeatSeen: Config.Beat has changed. State.NeedsBeats says whether the machine wants this event.
type BeatSeen struct{}

// PreferenceChanged: the state or the revision of Config.Preferred has changed. After any other change of it
// comes a Tick.
type PreferenceChanged struct{}

// RunnersStopped: after Stop, all work has stopped.
type RunnersStopped struct{}

// RunnersFailed: during a term, work ended that should have gone on.
type RunnersFailed struct{}

// WorkExpired: during a term, the driver's guard stopped the work because no extension came.
type WorkExpired struct{}

// Paused: the member gives up what it holds and takes nothing until it is Resumed.
type Paused struct{ Reason Reason }

// Resumed: the member takes part again.
type Resumed struct{}

// Resign: the member is leaving; it gives up what it holds and takes nothing any more.
type Resign struct{ Reason Reason }

func (Tick) event()              {}
func (Observed) event()          {}
func (ReadFailed) event()        {}
func (WriteDone) event()         {}
func (DirectoryChanged) event()  {}
func (BeatSeen) event()          {}
func (PreferenceChanged) event() {}
func (RunnersStopped) event()    {}
func (RunnersFailed) event()     {}
func (WorkExpired) event()       {}
func (Paused) event()            {}
func (Resumed) event()           {}
func (Resign) event()            {}

// View is what the directory says of the other living members. All machines of a member share it: nobody
// writes to it once it was handed out.
type View struct {
	Peers []Peer
	// Sessions are all session objects there are, by name, our own too.
	Sessions map[string]Session
	// Older says that a living member, of whatever group, runs a version that does not know disowned locks.
	Older bool
}

// Session is what a session object says of its holder.
type Session struct {
	UID string
	// Holder is empty while nobody's mark is bound to it.
	Holder string
	// Ended says whether it was ended by our mark.
	Ended bool
	// Disowned are the locks that the holder has disowned, as it wrote them together with a beat.
	Disowned []record.Disowned
	// Deaths are the deaths of holders of this object of which its record tells; those without a UID are not proved (rule proof-not-patience).
	Deaths []record.Death
	// Robbed are earlier holders that may be at work: a stranger put an earlier session in place of theirs.
	Robbed []Robbed
}

// Robbed is a member that may be at work until an instant, although its session does not show it.
type Robbed struct {
	Identity string
	Until    record.Instant
}

// Equal says whether s and o say the same.
func (s Session) Equal(o Session) bool {
	return s.UID == o.UID && s.Holder == o.Holder && s.Ended == o.Ended && slices.Equal(s.Disowned, o.Disowned) && slices.Equal(s.Deaths, o.Deaths) && slices.Equal(s.Robbed, o.Robbed)
}

// Peer is another living member.
type Peer struct {
	record.Member
	// Trust says whether the member has lived long enough since its last fall to be
	// worth a move (rule no-flapping).
	Trust Trust
}

// Trust is Proven for a member that the lock may move to, OnProbation for one that fell lately.
type Trust int

const (
	Proven Trust = iota + 1
	OnProbation
)
