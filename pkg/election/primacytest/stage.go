package primacytest

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Stage plays an election to code that goes by a Status, such as a fence.Gate, without a Manager and a store.
type Stage struct {
	stage *election.Stage
	clock clock.Clock
	token record.Token
}

// NewStage makes a Stage on which nobody leads. It works in a bubble and outside of one.
func NewStage(name string) *Stage {
	c := Clock()
	return &Stage{stage: election.NewStage(name, c), clock: c}
}

// Status is what the code under test goes by.
func (s *Stage) Status() *election.Status { return s.stage.Status() }

// Lead begins a term, which lasts for d unless Renew is called. Its token is higher than that of the last term.
func (s *Stage) Lead(d time.Duration) {
	s.token++
	s.stage.Begin(s.token, s.clock.Now().Add(d))
}

// Renew makes the term last for d from now on.
func (s *Stage) Renew(d time.Duration) { s.stage.Extend(s.clock.Now().Add(d)) }

// Stop ends the term, as a planned handover does.
func (s *Stage) Stop(why string) { s.stage.End(election.Stop{Reason: why, By: s.clock.Now()}) }

// Follow shows another member as the leader.
func (s *Stage) Follow(identity string) {
	s.stage.See(election.Leader{Identity: identity, Revision: "test", Location: record.Local, Token: s.token + 1})
	s.token++
}
