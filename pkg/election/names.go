package election

import (
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Timing is how long everything lasts. Zero fields get defaults, one by one, except PreemptDelay and MinHold: there zero means that nobody
// waits. To keep theirs, change a copy of Default().
type Timing = record.Timing

// Default is the timing for most elections: after a crash, another member leads within 15 s.
func Default() Timing { return profile(record.DefaultProfile) }

// Fast is for a quick failover, within 5 s, at more writes: a renewal every second.
func Fast() Timing { return profile("fast") }

// Relaxed is for clusters with a slow API server: a failover takes up to 137 s.
func Relaxed() Timing { return profile("relaxed") }

// SingleNode is for clusters whose API server restarts with its only node: a failover takes up to 270 s.
func SingleNode() Timing { return profile("single-node") }

func profile(name string) Timing {
	t, err := record.Profile(name)
	if err != nil {
		panic(err) // each of them exists
	}
	return t
}

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

// Bootstrap says when a member takes a lock object that nobody ever held.
type Bootstrap = machine.Bootstrap

const (
	// BootstrapWait: after a wait, as if somebody held the lock: the lock may have been deleted a moment
	// ago.
	BootstrapWait = machine.BootstrapWait
	// BootstrapImmediate: at once. For locks that nobody deletes.
	BootstrapImmediate = machine.BootstrapImmediate
)

// Outage says what happens to a term whose renewals fail: its Mode, and For, how long a term may outlast
// its validity if the Mode is OutageFailOpen.
type Outage = machine.Outage

// OutageMode says whether work stops when the store does not answer.
type OutageMode = machine.OutageMode

const (
	// OutageStop: the work is dead by the deadline, whatever the reason.
	OutageStop = machine.OutageStop
	// OutageFailOpen: the term goes on past its deadline while the store does not answer. This gives up
	// the guarantee: a member that reaches the store takes the lock meanwhile.
	OutageFailOpen = machine.OutageFailOpen
	// OutageUnbounded, as Outage.For, lets a term outlast its validity until the store answers again.
	OutageUnbounded = machine.OutageUnbounded
)

// OnDeath says when a lock is free whose holder was proved dead.
type OnDeath = machine.OnDeath

const (
	// OnDeathProof: at once.
	OnDeathProof = machine.OnDeathProof
	// OnDeathLease: after a lease, as if nothing had been proved.
	OnDeathLease = machine.OnDeathLease
)

// Foreigners describes electors that are not ours. Sharing says which electors they are. Wait is how long
// such an elector may still be at work after its last renewal: 3 x its renewDeadline (a late reply, then
// its attempts, then its release) + retryPeriod. A Wait of zero means unknown; then members wait
// four times the longer of that elector's duration and their own, which covers every timing that client-go accepts.
// For electors of Istio's they wait 52.5 s.
type Foreigners = machine.Foreigners

// Sharing says who else may hold a lock.
type Sharing = machine.Sharing

const (
	// NotShared: nobody but members of ours, as far as anybody knows.
	NotShared = machine.NotShared
	// SharedWithClientGo: electors that keep to client-go's rules.
	SharedWithClientGo = machine.SharedWithClientGo
	// SharedWithIstio: electors that also steal from a holder that is not of the preferred revision.
	SharedWithIstio = machine.SharedWithIstio
)

// Reason is why a role changed, in words for people.
type Reason = machine.Reason
