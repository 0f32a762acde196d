package machine

import (
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// Config is what does not change while a member takes part in an election.
type Config struct {
	Election string
	Group    string
	// Member is who we are: one incarnation. Of it, Standing is what may change: it names the
	// election while our runners are not ready for a term.
	Member record.Member
	Timing record.Timing
	// Others is what the other members say of theirs. Whoever waits for one of them waits by
	// the longer and the larger; a term of ours lasts by Timing alone.
	Others    record.Bounds
	Policy    priority.Policy
	Bootstrap Bootstrap
	// NotBefore is the earliest instant at which anything is taken; zero for none.
	NotBefore record.Instant
	// ProvenAt is when this member will have lived long enough since its last fall for
	// others to trust it (rule no-flapping); zero if it never fell.
	ProvenAt record.Instant
	// Foreign says which electors that are not ours may share the lock.
	Foreign Foreigners
	// Range: terms have ranges of wall-clock time (range.go).
	Range bool
	// Outage says what becomes of a term whose renewals no longer come through.
	Outage Outage
	// HolderFirst is the earliest instant at which the lock may be taken from a member of ours that
	// holds it, and may come back from an outage. What it has released may be taken at once.
	HolderFirst record.Instant
	// Outlasts: the store says nothing, and another term of this member goes on all the same.
	// Our session does not end then for a lock that it keeps ours.
	Outlasts bool
	// Renewal is what keeps our terms alive: renewals of the record, which is the default,
	// or beats of our session. A claim is always renewed by itself.
	Renewal record.Renewal
	// Sight says whether the stream that shows the lock shows the sessions as well.
	Sight Sight
	// Beat is the last one of our session that was seen.
	Beat Beat
	// Preferred is the revision that should lead this election, and Digest stands for everything from which
	// preferences follow, as this member's session publishes it.
	Preferred record.Preferred
	Digest    string
	// Newest is the newest revision that the lock's store has shown, if that was after this
	// member began to take part; else zero.
	Newest uint64
}

// Sight is how the lock is shown beside the sessions.
type Sight int

const (
	// WithSessions: one stream shows both, in the order of the store.
	WithSessions Sight = iota
	// ApartFromSessions: each has a stream of its own, and either may be far behind the other.
	ApartFromSessions
)

// Foreigners is what is known of electors that are not ours.
type Foreigners struct {
	Sharing Sharing
	// Wait is how long after its last renewal such an elector may still be at work:
	// renewDeadline + retryPeriod and a margin, at least record.LeastForeignWait. Zero where
	// that is not known: then it is twice the duration that it wrote.
	Wait time.Duration
}

// Sharing says who else may hold the lock.
type Sharing int

const (
	// NotShared: nobody but members of ours, as far as anybody knows.
	NotShared Sharing = iota
	// SharedWithClientGo: electors that keep to client-go's rules.
	SharedWithClientGo
	// SharedWithIstio: electors that also steal from whoever is not of the preferred
	// revision.
	SharedWithIstio
)

// Bootstrap says what a lock object that nobody ever held is worth.
type Bootstrap int

const (
	// BootstrapWait: it is waited out, since it may have been deleted a moment ago.
	BootstrapWait Bootstrap = iota + 1
	// BootstrapImmediate: it is taken at once. For locks that nobody deletes.
	BootstrapImmediate
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
	// alarmed is what was reported last, for as long as it lasts.
	alarmed ReportKind
	Lock    Lock
	// Term is the present or last term of ours.
	Term Term
	// Drain is about the end of the term; meaningful while Draining.
	Drain Drain
	// Cycle counts the terms of ours.
	Cycle int

	// View is what the directory said last of the other members.
	View *View
	// preferredSince is when Config.Preferred became what it is.
	preferredSince record.Instant
	// jitter is the last random number that an event brought.
	jitter float64

	writes     writes
	validity   validity
	foreign    *foreign
	succession succession
	standing   standing
	withdrawal withdrawal
	// Disowned is up to which beat our writes to the lock of that uid are nobody's.
	Disowned record.Disowned
	wake     record.Instant
}

// Lock is what is known of the lock object.
type Lock struct {
	Owner Owner
	// Seen says whether a list or a stream has shown the lock, or its absence, at all.
	Seen bool
	// foreignRelease: it is free because a foreign holder released it.
	foreignRelease bool
	// shared: an elector that is not ours was seen to hold it.
	shared bool
	// Record is nil when there is no object.
	Record  *record.Record
	Version record.Version

	// streamed is the version that the stream showed last (rule unknown-is-waited-out), and shown its record.
	streamed record.Version
	shown    *record.Record
	// at is when the last observation came in.
	at record.Instant
	// changedAt is when the last beat of the holder came in (rule observers-clock).
	changedAt record.Instant
	// beatAt is the first sight of the present beat, whoever owns the lock.
	beatAt record.Instant
	// since is the first sight of the present condition: of this release, of the end of
	// this holder's session, or of this lack of an owner.
	since record.Instant
	// beaten is the record as it was when its present beat was first seen: what keeps it
	// alive counts only as written beside a beat (rule observers-clock).
	beaten *record.Record
	// duration is the last one that a bound record, or a foreign holder, gave.
	duration time.Duration
}

// Owner is whose the lock is.
type Owner uint8

const (
	// Nobody: there is no object.
	Nobody Owner = iota + 1
	// Free: a member of ours released it, by a bound mark, or a foreign holder was seen
	// to release it.
	Free
	// Mine: this incarnation wrote it.
	Mine
	// Other: a member of ours holds it, or held it until it died.
	Other
	// Orphaned: a member of ours held it through its session, which has ended.
	Orphaned
	// Foreign: an elector that is not ours holds it.
	Foreign
	// Unowned: everything else, and it is waited out (rule unknown-is-waited-out).
	Unowned
)

// LastSign is when the holder was last seen to live, or the lock to become free or without an
// owner.
func (l *Lock) LastSign() record.Instant {
	if l.Owner == Other || l.Owner == Foreign {
		return l.changedAt
	}
	return l.since
}

// Alarm is the condition that was reported last, for as long as it lasts; zero for none.
func (s *State) Alarm() ReportKind { return s.alarmed }

func (o Owner) String() string {
	switch o {
	case Nobody:
		return "absent"
	case Free:
		return "free"
	case Mine:
		return "mine"
	case Other:
		return "held"
	case Orphaned:
		return "orphaned"
	case Foreign:
		return "foreign"
	case Unowned:
		return "unowned"
	}
	return fmt.Sprintf("Owner(%d)", int(o))
}

// Term is one tenure of ours.
type Term struct {
	Token   record.Token
	UID     string
	Started record.Instant
	// asked is when the take that began it was asked for.
	asked record.Instant
	// Deadline is what the work was granted.
	Deadline record.Instant
}

// Drain is the end of a term.
type Drain struct {
	Reason Reason
	// Lost says whether the lock is no longer ours, so that nothing is to be released.
	Lost bool
	// Stopped says whether all the work has stopped.
	Stopped bool
}

// Initial is the state of a member that has seen nothing yet.
func Initial() State {
	return State{Role: Following, View: &View{}, foreign: noForeigners}
}

// Continued is Initial for a member that wrote to this lock before, up to that beat, and disowned that.
func Continued(beat uint64, disowned record.Disowned) State {
	s := Initial()
	s.writes.last, s.Disowned = beat, disowned
	return s
}
