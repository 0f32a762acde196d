package config

import (
	"math"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// Outage says what happens to a term while the API server cannot be reached.
type Outage string

const (
	// OutageStop: the work of the term stops in time, as if the lock were lost.
	OutageStop Outage = "stop"
	// OutageFailopen: the work goes on for FailopenFor, or until the member learns that another
	// holds the lock. Two members may work at once.
	OutageFailopen Outage = "failopen"
)

// OnDeath is when the lock of an election is free after its holder was proved dead.
type OnDeath string

const (
	// OnDeathProof: at once.
	OnDeathProof OnDeath = "proof"
	// OnDeathLease: after a lease, as if nothing had been proved.
	OnDeathLease OnDeath = "lease"
)

// Unbounded as FailopenFor: work goes on for as long as the outage lasts.
const Unbounded time.Duration = math.MaxInt64

// failopenLeases is the default of FailopenFor, in leaseDurations.
const failopenLeases = 10

const wordUnbounded = "unbounded"

// boundDoc is a duration, or the word unbounded.
type boundDoc struct{ time.Duration }

// DecodeStrict reads a duration or the word.
func (b *boundDoc) DecodeStrict(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode && node.Value == wordUnbounded {
		b.Duration = Unbounded
		return nil
	}
	return strict.Decode(node, &b.Duration)
}

// outage resolves ranges and what happens in an outage, and after a death.
func (r *resolver) outage(at string, doc *electionDoc, e *Election) {
	e.Range = doc.Range
	e.OnDeath = OnDeath(r.oneOf(at+".onDeath", doc.OnDeath, string(OnDeathProof), string(OnDeathLease)))
	e.Outage = Outage(r.oneOf(at+".outage", doc.Outage, string(OutageStop), string(OutageFailopen)))
	if e.Outage == OutageFailopen {
		e.FailopenFor = failopenLeases * e.Timing.LeaseDuration
	}
	if bound := doc.FailopenFor; bound != nil {
		field := at + ".failopenFor"
		switch {
		case e.Outage != OutageFailopen:
			r.clash(field, "write outage: failopen, or leave failopenFor out", "the work stops in an outage")
		case bound.Duration <= 0:
			r.fail(field, "write how long work may go on after its lock has expired, or unbounded", "%v must be more than 0", bound.Duration)
		case bound.Duration > record.MaxTiming && bound.Duration != Unbounded:
			r.fail(field, "write unbounded", "%v is longer than a year", bound.Duration)
		}
		e.FailopenFor = bound.Duration
	}
}
