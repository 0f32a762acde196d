package config

import (
	"maps"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// The apiVersion and kind that a document must have.
const (
	APIVersion = "primacy.dev/v1alpha1"
	Kind       = "PrimacyConfiguration"
)

// Configuration is one valid document with everything resolved.
type Configuration struct {
	// File is where the document came from.
	File string
	// Group names the members that share these elections.
	Group string
	// Namespace holds locks and sessions; empty means the namespace of the client's context.
	Namespace string
	Member    Member
	// DefaultRevision is the source of the preferred revision; nil when there is none.
	DefaultRevision *Block
	// Timing applies to the session, and to elections that set nothing else.
	Timing    record.Timing
	Elections []Election
	// HTTP says where this member's endpoints are served, and to whom.
	HTTP HTTP

	root    *yaml.Node
	over    overrides
	sources sources
}

// Member describes this process as a member of its group.
type Member struct {
	Revision string
	Location record.Location
	Weight   int
	// Proofs says by which proofs, beside the parent's, others may end the session early; nil for none.
	Proofs []record.Proof
	// RemoveSessions: the member removes sessions that ended long ago.
	RemoveSessions bool
}

// Election is one entry of elections.
type Election struct {
	// Name includes the Suffix; so does the lock's name.
	Name string
	// Suffix is what ScopeRevision adds to names: a dash and the member's revision. It is
	// empty for ScopeGroup.
	Suffix string
	// Disabled: the runners run on every member, without an election.
	Disabled bool
	Lock     Lock
	// Policy is empty if Chain is set.
	Policy Policy
	// Chain lists the keys by which members are compared, as written, each once; nil if Policy is set.
	Chain     []string
	Timing    record.Timing
	Bootstrap Bootstrap
	// Range: each term comes with ranges of wall-clock time (docs/ranges.md).
	Range bool
	// Outage is what happens to a term while the API server cannot be reached. FailopenFor is
	// how long the term may outlast its validity with OutageFailopen, else zero.
	Outage      Outage
	FailopenFor time.Duration
	// OnDeath is when the lock is free after its holder was proved dead (docs/death.md).
	OnDeath OnDeath
	// LeaderLabel: the Pod of the leader has a label.
	LeaderLabel bool
	// Runners is empty if the election only elects a leader.
	Runners []Runner
	// Field is the entry's path, such as elections[2].
	Field string
	// Node is the entry as it was written.
	Node *yaml.Node
}

// Lock says which object is the lock of an election.
type Lock struct {
	// Kind is as written, Lease by default. The registry of lock kinds decides whether there is such a kind.
	Kind string
	// Name is the object's name; it defaults to the election's.
	Name string
	// Namespace holds the object; empty for that of the sessions.
	Namespace string
	// Renewal is never empty. The default is by session where that is possible, unless an elector of another kind
	// ever held the lock.
	Renewal record.Renewal
	// SharedWith names the foreign electors that may hold the lock as well.
	SharedWith SharedWith
	// Foreign are the timings of the SharedWith electors; zero if the document does not state them.
	Foreign ForeignTimings
	// MigrateFrom is the lock that the election had until now; nil if the election does not change its lock.
	MigrateFrom *LockName
	// Node is the lock block as it was written; nil if the document has none.
	Node *yaml.Node
}

// LockName identifies a lock by its kind, namespace and name. The namespace is empty for that of the sessions.
type LockName struct{ Kind, Namespace, Name string }

// LockName identifies the lock.
func (l Lock) LockName() LockName { return LockName{l.Kind, l.Namespace, l.Name} }

// LockNames are all locks that an election's leader holds, in the order in which it takes them; nil for a disabled
// election.
func (e *Election) LockNames() []LockName {
	switch {
	case e.Disabled: // all members with this configuration work at once
		return nil
	case e.Lock.MigrateFrom == nil:
		return []LockName{e.Lock.LockName()}
	}
	return []LockName{*e.Lock.MigrateFrom, e.Lock.LockName()}
}

// Namespaces are those of the locks that are not kept beside the sessions, sorted.
func (c *Configuration) Namespaces() []string {
	seen := map[string]bool{}
	for i := range c.Elections {
		for _, l := range c.Elections[i].LockNames() {
			seen[l.Namespace] = true
		}
	}
	delete(seen, "")
	return slices.Sorted(maps.Keys(seen))
}

// SharedWith says whose electors share a lock.
type SharedWith string

const (
	// SharedWithNobody: only members of ours.
	SharedWithNobody SharedWith = ""
	// SharedWithClientGo: electors of k8s.io/client-go.
	SharedWithClientGo SharedWith = "client-go"
	// SharedWithIstio: Istio's electors, which may take the lock from a holder of another revision.
	SharedWithIstio SharedWith = "istio"
)

// ForeignTimings are the settings of an elector of client-go.
type ForeignTimings struct{ RenewDeadline, RetryPeriod time.Duration }

// Wait is how long after its last renewal an elector with these timings may still be at work; zero
// if the timings are not stated. The reply to that renewal took at most renewDeadline, the next attempt begins at
// most retryPeriod later, the elector gives up renewDeadline after that, and its release, before which it does not
// end its work, takes at most another renewDeadline.
func (f ForeignTimings) Wait() time.Duration { return 3*f.RenewDeadline + f.RetryPeriod }

// Policy is the name of a priority policy as written, or DefaultPolicy. Package
// priority decides whether it exists.
type Policy string

// Defaults of a document.
const (
	DefaultLockKind = "Lease"
	DefaultPolicy   = Policy("revision-location")
	DefaultWeight   = 100
)

// Scope says who takes part in an election.
type Scope string

const (
	// ScopeGroup: all members of the group.
	ScopeGroup Scope = "group"
	// ScopeRevision: members of one revision, so that there is one election for each.
	ScopeRevision Scope = "revision"
)

// Bootstrap says how the first term of a lock that does not exist yet begins.
type Bootstrap string

const (
	// BootstrapWait: members create the lock empty and wait for one leaseDuration.
	BootstrapWait Bootstrap = "wait"
	// BootstrapImmediate: a member creates the lock empty and takes it at once. Only for locks
	// that nobody deletes: another member may take a deleted one while its holder still works.
	BootstrapImmediate Bootstrap = "immediate"
)

// Runner is one piece of work of an election: its name and the block of its kind.
type Runner struct {
	Name string
	// Mode and OnExit are as written, empty by default. The registry of runners knows
	// the valid words.
	Mode, OnExit string
	Block
	// Entry is the whole entry, including the name, for registries that decode all of it.
	Entry Block
}

// Block is a part of the document that an adapter's registry decodes.
type Block struct {
	// Kind is the key under which the block stands.
	Kind string
	// Field is the block's path, such as elections[0].runners[1].exec.
	Field string
	// Node is the block as it was written.
	Node *yaml.Node
}
