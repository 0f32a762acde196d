package machine

import (
	"cmp"
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
type Role int

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
// what its argument points to.
type State struct {
	Role Role
	Lock Lock
	// Term is the present or last term of ours.
	Term Term
	// Drain is about the end of the term; meaningful while Draining.
	Drain Drain
	// Cycle counts the terms of ours.
	Cycle int

	// Preferred and Digest are what this member sees of the preference.
	Preferred record.Preferred
	Digest    string
	// preferredAt is when Preferred became what it is.
	preferredAt record.Instant
	View        *View

	// Beat is the number of the last write that was asked for.
	Beat uint64
	// firstBeat is the number of the first one; zero before. What a lower number stands
	// beside, a former machine of this incarnation wrote.
	firstBeat uint64
	// writes are those not answered, or answered with Unknown and not yet passed.
	writes  []write
	reading bool
	// baffled: a write was rejected, and what is known of the lock does not explain it.
	baffled bool

	// retryAt is the earliest instant for the next write after a failure.
	retryAt record.Instant
	// session is ours, as the stream showed it last.
	session ownSession
	// sightless: nothing was taken, for want of a beat of our session that was seen.
	sightless bool
	// heldUntil is the end of our own validity of the lock, whether or not a term is on.
	heldUntil record.Instant
	renewAt   record.Instant
	jitter    float64
	// rangeUntil is until when the range that our last committed write stands for lasts; zero
	// where terms have none.
	rangeUntil record.Instant
	// denied: the store's last word on a renewal was a definite no.
	denied bool

	// suspects are the foreign electors that held the lock and may still be at work, the
	// last one last (rule claim-and-wait); some may be history.
	suspects []suspect
	// claimed is the claim that we wrote last, and heard the one that the lock carried last.
	claimed record.Claim
	heard   heard
	// claimsLost counts the claims that a foreign elector overwrote since our last term.
	claimsLost int
	// robbedUntil is until when a member of ours may be at work from which a foreign elector
	// took the lock without waiting.
	robbedUntil record.Instant
	// outrankedSince is since when we have outranked a live foreign holder; zero while not.
	outrankedSince record.Instant

	// betterSince is since when somebody has been worth a move; zero when nobody is.
	betterSince record.Instant
	// StandDownUntil is until when this member's standing here is lowered.
	StandDownUntil record.Instant
	failures       int
	// pausedUntil is until when this member leaves a free lock alone since its runners failed.
	pausedUntil record.Instant

	// ended: the store was restored; nothing that this incarnation knows is true.
	ended bool
	// owedSince is since when our session has kept a lock ours on which no work is done; zero
	// while it keeps none.
	owedSince record.Instant
	// Disowned is up to which beat our writes to the lock of that uid are nobody's.
	Disowned     record.Disowned
	leaving      Reason
	leavingSince record.Instant
	// paused is why this member takes nothing for now; empty while it takes part.
	paused     Reason
	passedOver []passedOver
	wake       record.Instant
	alarmed    ReportKind
}

// Lock is what is known of the lock object.
type Lock struct {
	// Seen says whether a list or a stream has shown the lock, or its absence, at all.
	Seen bool
	// Record is nil when there is no object.
	Record  *record.Record
	Version record.Version
	Owner   Owner

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
	// foreignRelease: it is free because a foreign holder released it.
	foreignRelease bool
	// shared: an elector that is not ours was seen to hold it.
	shared bool
}

// Owner is whose the lock is.
type Owner int

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

type write struct {
	purpose Purpose
	beat    uint64
	onto    record.Version
	asked   record.Instant
	token   record.Token
	// unknown: the driver gave up waiting; it may be committed yet.
	unknown bool
	// seen: the stream or a read showed it committed before its reply came.
	seen bool
	// throughSession: what it keeps alive is renewed by beats of our session.
	throughSession bool
}

// passedOver is a member that this one neither names nor moves to until then, since it let a nomination
// go by, or leaves.
type passedOver struct {
	identity, config string
	until            record.Instant
	// since is the first sight of the release that named it, count how many nominations it let go
	// by; both zero for one that leaves.
	since record.Instant
	count int
}

// Initial is the state of a member that has seen nothing yet.
func Initial() State {
	return State{Role: Following, Preferred: record.Preferred{State: record.PreferredNotSynced}, View: &View{}}
}

// Settled says whether a member that resigned owes nothing any more: no work, no lock
// that it could still release, no write under way. What cannot be released within one
// leaseDuration is left to expire (rule answer-for-your-writes); a Tick is asked for at that instant. A claim
// that lasts longer than that is so left at once.
func (s *State) Settled(c Config, now record.Instant) bool {
	switch {
	case s.leaving == "" || s.Role == Leading || s.Role == Draining && !s.Drain.Stopped:
		return false
	case now >= s.givesUpAt(c):
		// What our session keeps ours must have been answered for first: a Tick is due.
		return s.ended || s.Lock.Owner != Mine || !s.Lock.Record.ThroughSession()
	case s.Role != Following:
		return false
	case s.ended:
		return true
	}
	return len(s.writes) == 0 && (s.Lock.Owner != Mine || (&step{State: *s, cfg: c, now: now}).abandons())
}

// withdrawn is why this member takes nothing, for good or for now; empty while it does.
func (s *State) withdrawn() Reason { return cmp.Or(s.leaving, s.paused) }

// givesUpAt is when a leaving member stops trying to release.
func (s *State) givesUpAt(c Config) record.Instant {
	if s.Lock.Owner == Mine && s.Lock.Record.ThroughSession() {
		return max(s.leavingSince, s.owedSince).Add(c.Timing.LeaseDuration) // for our session may last for ever
	}
	// The release is the first write after the range.
	return max(s.leavingSince.Add(c.Timing.LeaseDuration), s.heldUntil, s.rangeUntil.Add(c.Timing.RenewInterval))
}

// ValidUntil is until when the lock is certainly ours by the renewals that were committed;
// zero while it is not. A term that fails open outlasts it.
func (s *State) ValidUntil() record.Instant { return s.heldUntil }

// Standing says whether the member's runners are in good standing here.
func (s *State) Standing(now record.Instant) bool { return now >= s.StandDownUntil }
