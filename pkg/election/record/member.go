package record

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Location says where a member runs, seen from the group it takes part in.
type Location string

const (
	Local  Location = "local"
	Remote Location = "remote"
)

// ParseLocation reads "local" or "remote".
func ParseLocation(s string) (Location, error) {
	switch l := Location(s); l {
	case Local, Remote:
		return l, nil
	}
	return "", fmt.Errorf("unknown location %q (want local or remote)", s)
}

// Key is revision and location as a record shows them: `<revision>`, or
// `^<revision>` for a remote member (Istio's form).
type Key string

// DefaultRevision is what the empty revision is normalized to (Istio's rule).
const DefaultRevision = "default"

// NewKey makes the key of a member.
func NewKey(revision string, at Location) Key {
	if revision == "" {
		revision = DefaultRevision
	}
	if at == Remote {
		return Key("^" + revision)
	}
	return Key(revision)
}

// Revision is the revision that the key names; empty for an absent key.
func (k Key) Revision() string { return strings.TrimPrefix(string(k), "^") }

// Location is Remote for a key that starts with a caret, else Local.
func (k Key) Location() Location {
	if strings.HasPrefix(string(k), "^") {
		return Remote
	}
	return Local
}

// Preferred is the revision that should lead an election right now. It has three states:
// not synced (nothing moves), unset (no preference), and set.
type Preferred struct {
	State    PreferredState
	Revision string // only with PreferredSet
	// Member is the host name of the member that comes before all others, whatever its
	// revision; empty for none. It counts only while the preference is synced.
	Member string
	// Blocked is a revision that was taken back: a holder of that revision hands over to a
	// better member at once, whatever preemptDelay and minHold say. Empty for none.
	Blocked string
	// Drained are the hosts whose members come after all others, pinned or not, whatever the policy says.
	Drained Hosts
	// Paused: nobody outranks anybody. Who comes first to take a free lock stays as it is.
	Paused bool
	// NoTakeover: nobody takes a lock that it does not hold (rule no-takeover).
	NoTakeover bool
}

// PreferredState is the state of a preference.
type PreferredState int

const (
	// PreferredNotSynced: the source has not answered yet. Nothing moves.
	PreferredNotSynced PreferredState = iota + 1
	// PreferredUnset: the source says that no revision is preferred.
	PreferredUnset
	// PreferredSet: the source names a revision.
	PreferredSet
)

func (s PreferredState) String() string {
	switch s {
	case PreferredNotSynced:
		return "not synced"
	case PreferredUnset:
		return "unset"
	case PreferredSet:
		return "set"
	}
	return fmt.Sprintf("PreferredState(%d)", int(s))
}

// Prefer makes a set preference; the empty revision makes an unset one.
func Prefer(revision string) Preferred {
	if revision == "" {
		return Preferred{State: PreferredUnset}
	}
	return Preferred{State: PreferredSet, Revision: revision}
}

// String tells any two preferences apart.
func (p Preferred) String() string {
	s := "(" + p.State.String() + ")"
	if p.State == PreferredSet {
		s = p.Revision
	}
	if p.Member != "" {
		s += ", pinned to " + p.Member
	}
	if p.Blocked != "" {
		s += ", not " + p.Blocked
	}
	if p.Drained != "" {
		s += ", without " + string(p.Drained)
	}
	if p.Paused {
		s += ", paused"
	}
	if p.NoTakeover {
		s += ", no takeover"
	}
	return s
}

// Pins says whether the identity belongs to the member that comes before all others.
func (p Preferred) Pins(identity string) bool {
	return p.Member != "" && (p.State == PreferredUnset || p.State == PreferredSet) && HostOf(identity) == p.Member
}

// Member is what one incarnation of one process publishes about itself in its session.
type Member struct {
	Identity string
	Revision string
	Location Location
	Weight   int
	Ready    bool
	// Preference is a digest of everything that determines the preferred revisions.
	Preference string
	// Config is a digest of the elections that the member takes part in.
	Config string
	// Setup should be equal in all members of a group.
	Setup
	// Fallen counts the earlier sessions of the same Pod or host that their owners did not
	// end; zero again after the member has lived twice its probation.
	Fallen int
	// Predecessors are earlier members of the session's slot that may still be at work: nothing else in the store may tell of
	// them. The session sets them itself.
	Predecessors []Predecessor
	// Standing lists elections in which the member's runners failed lately, or are not ready for a term, and those whose locks no list
	// has shown it yet, because lists fail.
	// EveryElection alone means more elections than fit into the list.
	Standing []string
	// Lacks says why runners are not ready, or that lists fail (NoList), for some of the elections in Standing. It is for people only: no member
	// goes by it, so Equal does not look at it, and a beat carries what has changed.
	Lacks []Lack
	// Lags says why the member does not go by its configuration as it is written; empty if it does. It is for people
	// only, as Lacks is.
	Lags string
	// Open lists elections in which the member has a term that fails open once its renewals no longer come
	// through. While this session lives the lock of such an election is not free, however old its renewal
	// is. EveryElection alone means more elections than fit into the list.
	Open []string
	// Disowned are the locks of which the member could write neither a release nor a take
	// (rule disowned-for-good).
	Disowned []Disowned
	// Proofs are the ways to know that this member is dead before its session has lapsed. None for members of
	// earlier versions.
	Proofs []Proof
	// Container is where the member runs, if a kubelet's word may end the session.
	Container Container
	// RenewInterval is the longest time between two beats of the session. Only a session that accepts a word
	// says so; zero otherwise. The session sets it itself.
	RenewInterval time.Duration
	// Deaths are the members of this slot that were proved dead, the latest last. In a session that was ended
	// by a proof, the last one is its own member's. The session sets them itself.
	Deaths []Death
}

// Predecessor is what a session still says of earlier members of its slot, all with one configuration. They did not end their
// sessions themselves.
type Predecessor struct {
	// Config and Timings are as in Member and Setup.
	Config, Timings string
	// LongestLease is their longest lease, and SessionLease that of their sessions, in seconds.
	LongestLease, SessionLease int
	DriftPPM                   int
	// For is how long they may still be at work after this was written, in seconds.
	For int
}

// MostPredecessors is how many Predecessors a session has room for.
const MostPredecessors = 4

// LongestOfAll is the longest lease of the member and its predecessors.
func (m *Member) LongestOfAll() time.Duration {
	longest := m.LongestLease
	for _, p := range m.Predecessors {
		longest = max(longest, p.LongestLease)
	}
	return time.Duration(longest) * time.Second
}

// Lack is why the runners of an election are not ready.
type Lack struct{ Election, Why string }

// NoList is why a member lacks what an election needs whose lock no list has shown it yet.
const NoList = "it does not know yet who holds the lock, since lists of its namespace fail"

// MostLacks is how many Lacks a session has room for.
const MostLacks = 16

// Disowned says that a member's writes to a lock, up to a beat, make nobody the lock's holder.
type Disowned struct {
	// Lock is the uid of the lock's object: unlike a name, it identifies one object of one kind.
	Lock string
	// Beat is the beat of the last write that the member sent to the lock.
	Beat uint64
}

// HasDisowned says whether the member disowned its write with the given beat to the lock with the given
// uid. A member that publishes this never holds the lock by that write again.
func (m *Member) HasDisowned(lock string, beat uint64) bool {
	return m != nil && Disowns(m.Disowned, lock, beat)
}

// Disowns says whether the list names the lock with the given uid, with the given beat or a later one.
func Disowns(list []Disowned, lock string, beat uint64) bool {
	return slices.ContainsFunc(list, func(d Disowned) bool { return d.Lock == lock && beat <= d.Beat })
}

// Protocol says what members of this version understand of other sessions: 1 means that they understand
// disowned locks. Earlier versions publish none.
const Protocol = 1

// EveryElection, in a list of a Member, means more elections than fit into the list. No election has that
// name.
const EveryElection = "*"

// StandsForNone says whether the member is in good standing for no election at all.
func (m Member) StandsForNone() bool { return len(m.Standing) == 1 && m.Standing[0] == EveryElection }

// Setup is the part of a configuration that should be equal in all members of a group, as far
// as others can see it. A member of an earlier version publishes none: its Setup is unknown.
type Setup struct {
	// Version is the version of the member's program.
	Version string
	// Protocol says what the member understands of other sessions. Members of this version publish
	// the constant Protocol.
	Protocol int
	// DriftPPM is the member's drift, in millionths.
	DriftPPM int
	// LongestLease is the longest leaseDuration of the member's elections and session, in seconds.
	LongestLease int
	// Rules is a digest of how the member's elections are decided, Timings a digest of their
	// durations. Compare them only between members with equal Config.
	Rules, Timings string
	// Places are the namespaces, with commas between them, that hold locks of the member's elections and are not that of
	// the sessions. The list may be cut short. It is for people: it says where commands do not look by themselves.
	Places string
}

// Drift is DriftPPM as a fraction, as in a Timing.
func (s Setup) Drift() float64 { return float64(s.DriftPPM) / 1e6 }

// Longest is LongestLease as a duration.
func (s Setup) Longest() time.Duration { return time.Duration(s.LongestLease) * time.Second }

// Equal says whether m and o publish the same, apart from Lacks and Lags, and from Predecessors, which a take of the slot brings
// and time takes away.
func (m *Member) Equal(o *Member) bool {
	return m.Identity == o.Identity && m.Revision == o.Revision && m.Location == o.Location && m.Weight == o.Weight &&
		m.Ready == o.Ready && m.Preference == o.Preference && m.Config == o.Config && m.Fallen == o.Fallen && m.Setup == o.Setup &&
		slices.Equal(m.Standing, o.Standing) && slices.Equal(m.Open, o.Open) && slices.Equal(m.Disowned, o.Disowned) &&
		slices.Equal(m.Proofs, o.Proofs) && m.RenewInterval == o.RenewInterval && m.Container == o.Container && slices.Equal(m.Deaths, o.Deaths)
}

// AcceptsWords says whether somebody's word may end the session.
func (m *Member) AcceptsWords() bool { return slices.ContainsFunc(m.Proofs, Proof.IsWord) }

// Key is the member's revision and location as records show it.
func (m Member) Key() Key { return NewKey(m.Revision, m.Location) }

// StandsFor says whether the member's runners are in good standing for the election.
func (m Member) StandsFor(election string) bool { return !lists(m.Standing, election) }

// KeepsOpen says whether the member has a term of the election that fails open.
func (m Member) KeepsOpen(election string) bool { return lists(m.Open, election) }

func lists(list []string, election string) bool {
	for _, e := range list {
		if e == election || e == EveryElection {
			return true
		}
	}
	return false
}

// Doubled is base x 2^n, at most 32 x base: the back-off that the rules mean by "doubling". It is the longest
// Duration where a longer one would overflow.
func Doubled(base time.Duration, n int) time.Duration {
	times := uint(min(max(n, 0), 5))
	if base > math.MaxInt64>>times {
		return math.MaxInt64
	}
	return base << times
}
