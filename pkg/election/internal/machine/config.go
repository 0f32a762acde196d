package machine

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// Config is what a member has been told: how it takes part in an election, which does not change, and what
// is true of this event alone.
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
