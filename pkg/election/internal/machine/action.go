package machine

import (
	"fmt"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Action is something the driver must do. The types below are all there are.
type Action interface{ action() }

// Write: put the record if the object is still at If; a zero If means create.
type Write struct {
	Purpose Purpose
	// Record has zero times where the moment of sending belongs.
	Record record.Record
	If     record.Version
	// Beat numbers this write among all writes of this machine.
	Beat uint64
}

// Purpose is what a write is for. The driver sends renewals first.
type Purpose int

const (
	Create Purpose = iota + 1
	// Claim takes a lock from a foreign holder without starting a term (rule claim-and-wait).
	Claim
	Take
	Renew
	Release
)

func (p Purpose) String() string {
	switch p {
	case Create:
		return "create"
	case Claim:
		return "claim"
	case Take:
		return "take"
	case Renew:
		return "renew"
	case Release:
		return "release"
	}
	return fmt.Sprintf("Purpose(%d)", int(p))
}

// Read: fetch the object with a consistent read.
type Read struct {
	// Behind: for a leaseDuration the stream has not shown what an answer showed. It may be silent, so begin it anew.
	Behind bool
}

// Start: begin the work of a term.
type Start struct {
	Token    record.Token
	Cycle    int
	Deadline record.Instant
}

// Extend: the work may go on until Deadline.
type Extend struct{ Deadline record.Instant }

// Stop: end the work; it must be dead at By. Irrevocable.
type Stop struct {
	Reason Reason
	By     record.Instant
}

// WakeAt: send a Tick at this instant only. Zero: none is needed.
type WakeAt struct{ At record.Instant }

// EndSession: this incarnation can no longer be trusted; it must rejoin as a new one,
// which takes nothing before NotBefore.
type EndSession struct {
	Reason    Reason
	NotBefore record.Instant
}

// Disown: publish in our session that all our writes to the lock with the given uid, up to the given beat,
// are nobody's (rule disowned-for-good), and keep that published while the lock shows such a write. Or end
// the session, which says the same of all locks.
type Disown struct{ record.Disowned }

// Report: something happened that people may want to know.
type Report struct {
	Kind   ReportKind
	Role   Role
	Reason Reason
	Token  record.Token
	// Detail names a member or a cause where there is one.
	Detail string
	// Until is when a lock without an owner will have been waited out; zero for other reports.
	Until record.Instant
}

// ReportKind is what a Report tells.
type ReportKind uint8

const (
	// RoleChanged: Role is the new one, Reason why.
	RoleChanged ReportKind = iota + 1
	// PassedOver: the nominee Detail did not take the lock.
	PassedOver
	// Ownerless: the lock has no known owner and we wait it out; Detail says why.
	Ownerless
	// ForeignHolder: an elector that is not ours holds the lock; Detail is its identity.
	ForeignHolder
	// ForeignTooLong: the foreign holder Detail wrote a duration that is too long to wait out; an operator
	// must end it (rule unknown-is-waited-out).
	ForeignTooLong
	// Divided: the holder stays because the better member Detail sees another preference.
	Divided
	// Unheeded: the holder stays although somebody asked it to hand over; Detail says to whom, and why not (rule
	// forced-handover).
	Unheeded
)

func (k ReportKind) String() string {
	switch k {
	case RoleChanged:
		return "role changed"
	case PassedOver:
		return "nominee passed over"
	case Ownerless:
		return "lock without an owner"
	case ForeignHolder:
		return "foreign holder"
	case ForeignTooLong:
		return "foreign holder with a duration too long to wait out"
	case Divided:
		return "better member sees another preference"
	case Unheeded:
		return "forced handover is not obeyed"
	}
	return fmt.Sprintf("ReportKind(%d)", int(k))
}

func (Write) action()      {}
func (Read) action()       {}
func (Start) action()      {}
func (Extend) action()     {}
func (Stop) action()       {}
func (WakeAt) action()     {}
func (EndSession) action() {}
func (Disown) action()     {}
func (Report) action()     {}

// Reason is why a term ended or a role changed.
type Reason string

const (
	ReasonTaken     Reason = "lock taken"
	ReasonClaimed   Reason = "lock claimed from a foreign holder"
	ReasonYielded   Reason = "another revision is preferred"
	ReasonExpired   Reason = "not renewed in time"
	ReasonLost      Reason = "lock lost to another holder"
	ReasonDeleted   Reason = "lock object deleted or recreated"
	ReasonCorrupt   Reason = "lock record corrupt"
	ReasonPreempted Reason = "better member is ready"
	ReasonForced    Reason = "forced handover"
	ReasonFailed    Reason = "runners failed"
	ReasonShutdown  Reason = "member is leaving"
	ReasonPaused    Reason = "paused"
	ReasonOuterLost Reason = "lost the lock that we migrate from"
	ReasonWaits     Reason = "the lock that we migrate to cannot be taken"
	ReasonRemoved   Reason = "election removed"
	ReasonExchanged Reason = "election exchanged"
	ReasonSession   Reason = "session ended"
	ReasonBlind     Reason = "the session's own beats are not seen"
	ReasonHeldOn    Reason = "session kept a lock without work on it"
	ReasonRestored  Reason = "store was restored to an earlier state"
	ReasonReleased  Reason = "released"
	ReasonAbandoned Reason = "claim left to expire"
	ReasonNotHeld   Reason = "lock no longer held"
)
