package election

import "github.com/primacy-dev/primacy/pkg/election/internal/machine"

// Role is what a member does in an election.
type Role = machine.Role

const (
	// Following: no term; the member may be waiting for its turn to take the lock.
	Following = machine.Following
	// Claiming: the lock is the member's, but its former, foreign holder may still be at work.
	Claiming = machine.Claiming
	// Leading: a term is on and its work may run.
	Leading = machine.Leading
	// Draining: the term is over; its work is being stopped, or its lock released.
	Draining = machine.Draining
)

// Bootstrap says what a lock object that nobody ever held is worth.
type Bootstrap = machine.Bootstrap

const (
	// BootstrapWait: it is waited out, since it may have been deleted a moment ago.
	BootstrapWait = machine.BootstrapWait
	// BootstrapImmediate: it is taken at once. For locks that nobody deletes.
	BootstrapImmediate = machine.BootstrapImmediate
)

// Outage is what becomes of a term whose renewals no longer come through: its Mode, and For, how long a
// term may outlast its validity where that is OutageFailOpen.
type Outage = machine.Outage

// OutageMode says whether work stops when the store is away.
type OutageMode = machine.OutageMode

const (
	// OutageStop: the work is dead by the deadline, whatever the reason.
	OutageStop = machine.OutageStop
	// OutageFailOpen: the term goes on past its deadline while the store says nothing. It gives the
	// guarantee away: whoever reaches the store takes the lock meanwhile.
	OutageFailOpen = machine.OutageFailOpen
	// OutageUnbounded, as Outage.For, lets a term outlast its validity for as long as the store is away.
	OutageUnbounded = machine.OutageUnbounded
)

// Foreigners is what is known of electors that are not ours: their Sharing, and Wait, how long after its
// last renewal such an elector may still be at work: its renewDeadline + retryPeriod and a margin. Where
// that is not known Wait is zero, and means twice the duration that the elector wrote.
type Foreigners = machine.Foreigners

// Sharing says who else may hold a lock.
type Sharing = machine.Sharing

const (
	// NotShared: nobody but members of ours, as far as anybody knows.
	NotShared = machine.NotShared
	// SharedWithClientGo: electors that keep to client-go's rules.
	SharedWithClientGo = machine.SharedWithClientGo
	// SharedWithIstio: electors that also steal from whoever is not of the preferred revision.
	SharedWithIstio = machine.SharedWithIstio
)

// Reason is why a role changed, in words for people.
type Reason = machine.Reason
