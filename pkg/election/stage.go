package election

import (
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Stage is a Status that its user moves, in place of a Manager: for tests of code that goes by a Status, such as a gate.
// Package primacytest has a simpler one for most tests. Its methods must not be called from several goroutines at once.
type Stage struct{ status *Status }

// NewStage makes a Stage on which this member follows, and nobody leads.
func NewStage(election string, c clock.Clock) *Stage {
	return &Stage{newStatus(election, newShared(c))}
}

// Status is the Status that shows what the Stage plays.
func (s *Stage) Status() *Status { return s.status }

// Begin begins a term of this member, which lasts until the deadline.
func (s *Stage) Begin(token record.Token, deadline record.Instant) {
	s.status.cycle.Inc()
	s.status.begin(token, deadline)
	s.publish(machine.Leading, "staged")
}

// Extend grants the term a later deadline.
func (s *Stage) Extend(deadline record.Instant) { s.status.extend(deadline) }

// End ends the term.
func (s *Stage) End(why Stop) {
	s.status.end(s.status.Token(), why)
	s.publish(machine.Following, machine.Reason(why.Reason))
}

// See shows another leader, or none.
func (s *Stage) See(l Leader) {
	if s.status.see(l) {
		role, _, _ := s.status.Role()
		s.status.publish(Transition{At: s.status.shared.clock.Wall(), Event: EventLeader, Role: role, Token: s.status.Token(), Cycle: s.status.Cycle()})
	}
}

// Close closes the channels of the Status, as the end of a Manager does.
func (s *Stage) Close() { s.status.close() }

func (s *Stage) publish(role Role, why Reason) {
	s.status.become(role, why)
	s.status.publish(Transition{At: s.status.shared.clock.Wall(), Event: EventRole, Role: role, Reason: why, Token: s.status.Token(), Cycle: s.status.Cycle()})
}
