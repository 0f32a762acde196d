package machine

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// Config is what the driver tells a member: how it takes part in an election, which does not change, and
// what is true of this event alone.
type Config struct {
	Election string
	Group    string
	// Member is our incarnation. Only its Standing may change: it names the election while our runners are
	// not ready for a term.
	Member record.Member
	Timing record.Timing
	// Others bounds what the other members say of their timing. We wait for them by the longer lease and
	// the larger drift; a term of ours lasts by Timing alone.
	Others    record.Bounds
	Policy    priority.Policy
	Bootstrap Bootstrap
	// NotBefore is the earliest instant at which we take anything; zero for none.
	NotBefore record.Instant
	// ProvenAt is when this member will have lived long enough since its last fall for
	// others to trust it (rule no-flapping); zero if it never fell.
	ProvenAt record.Instant
	// Foreign says which electors that are not ours may share the lock.
	Foreign Foreigners
	// Inner: the lock is the one to which the election migrates. Requests in the record of the other lock count, and
	// none in this one (rule forced-handover).
	Inner bool
	// Range: terms have ranges of wall-clock time (range.go).
	Range bool
	// Outage says what becomes of a term whose renewals no longer come through.
	Outage Outage
	// HolderFirst is the earliest instant at which we may take the lock from a member of ours that holds
	// it, since the holder may come back from an outage. HeldOff is that for each lock that no member of ours released. We may
	// take a released lock at once.
	HolderFirst, HeldOff record.Instant
	// Outlasts: the store does not answer, and another term of this member goes on all the same. Then we
	// don't disown a lock that our session keeps ours, since disowning might end the session.
	Outlasts bool
	// OnDeath says when a lock is free whose holder was proved dead. The default is OnDeathProof.
	OnDeath OnDeath
	// Renewal is what keeps our terms alive: renewals of the record, which is the default, or beats of our
	// session, or either of them by who held the lock. A claim is always renewed through its record.
	Renewal record.Renewal
	// Sight says whether the stream that shows the lock shows the sessions as well.
	Sight Sight
	// Beat is the last beat of our session that we saw.
	Beat Beat
	// Preferred is the revision that should lead this election. Digest is the digest of all preferences, as
	// this member sees them. Members with the same digest see the same preferences.
	Preferred record.Preferred
	Digest    string
	// LongestEver is the longest leaseDuration that any session ever published to this member, even if the
	// session is gone (rule absence-counts).
	LongestEver time.Duration
	// Unpublished: the store has not shown a beat of our session yet that tells of the election, with this lease (rule
	// published-before-held).
	Unpublished bool
	// Newest is the newest revision that the lock's store has shown, if that was after this
	// member began to take part; else zero.
	Newest uint64
}

// Sight says whether the stream that shows the lock shows the sessions too.
type Sight int

const (
	// WithSessions: one stream shows both, in the order of the store.
	WithSessions Sight = iota
	// ApartFromSessions: each has a stream of its own, and either may be far behind the other.
	ApartFromSessions
	// WithoutSessions: the same, and the sessions that we see are those of another place. A session that renews
	// the lock is beside it, where we see none.
	WithoutSessions
)

// Foreigners is what is known of electors that are not ours.
type Foreigners struct {
	Sharing Sharing
	// Wait is how long after its last renewal such an elector may be at work: 3 x renewDeadline +
	// retryPeriod, from record.LeastForeignWait to record.MaxForeignWait. Zero if that is not known: see StopsAfter.
	Wait time.Duration
}

// Sharing says who else may hold the lock.
type Sharing int

const (
	// NotShared: nobody but members of ours, as far as anybody knows.
	NotShared Sharing = iota
	// SharedWithClientGo: electors that keep to client-go's rules.
	SharedWithClientGo
	// SharedWithIstio: electors that also steal from a holder that is not of the preferred revision.
	SharedWithIstio
)

// Bootstrap says what to do with a lock object that nobody ever held.
type Bootstrap int

const (
	// BootstrapWait: wait it out, since somebody may have deleted a held one a moment ago.
	BootstrapWait Bootstrap = iota + 1
	// BootstrapImmediate: take it at once. For locks that nobody deletes.
	BootstrapImmediate
)
