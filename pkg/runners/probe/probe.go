//go:build linux

package probe

import (
	"context"
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
)

// Program is what a runner's program lends to its probe.
type Program struct {
	// Election is the name of the election, which a command gets as PRIMACY_ELECTION.
	Election string
	// Dir is where a command runs, and where a relative path starts.
	Dir string
	// Env adds NAME=value to the environment that package child provides.
	Env []string
	// Confinement is a command's user and limits.
	Confinement deadman.Confinement
	// Locate finds a command's program, anew for each probe.
	Locate func() (path string, err error)
}

// Probe asks again and again whether a program could work.
type Probe struct {
	spec  Spec
	turns *turns
	check check
}

// check asks once. It returns soon after ctx ends, and nothing of what it started is left then; why there
// is no answer in time is in its error.
type check func(ctx context.Context) error

// New makes the probe of a program. The spec is one that Check accepts.
func New(s Spec, p Program, turns *Turns) *Probe {
	switch {
	case len(s.Command) > 0:
		return &Probe{s, turns.commands, commandCheck(s, p)}
	case s.File != "":
		return &Probe{s, turns.others, fileCheck(s, p.Dir)}
	}
	return &Probe{s, turns.others, httpCheck(s)}
}

// Readiness implements the method of election.Readiness: it asks until ctx ends.
func (p *Probe) Readiness(ctx context.Context, report func(error)) error {
	v := verdict{Spec: p.spec, report: report}
	for {
		if !p.turns.wait(ctx, func() { v.take(errStuck) }) {
			return nil
		}
		p.once(ctx, v.take)
		if !clock.Wait(ctx, p.spec.Period) {
			return nil
		}
	}
}

// hung is how much longer than its timeout a check may take before we say that it hangs. Killing a command takes a moment.
const hung = 2 * time.Second

// once asks once, and gives the turn back. A check that hangs in the kernel fails again in each period, and keeps its turn.
func (p *Probe) once(ctx context.Context, take func(error)) {
	answer := make(chan error, 1)
	go func() { answer <- p.check(ctx) }() // joined below
	late := clock.NewTimer(p.spec.Timeout + hung)
	defer late.Stop()
	for {
		select {
		case problem := <-answer:
			p.turns.end()
			if ctx.Err() == nil {
				take(problem)
			}
			return
		case <-late.C:
			if ctx.Err() == nil {
				take(fmt.Errorf("the probe hangs: no end of it %v after its timeout of %v", hung, p.spec.Timeout))
			}
			late.Reset(p.spec.Period)
		}
	}
}

// verdict is what the answers so far amount to.
type verdict struct {
	Spec
	report func(error)

	ready bool
	// inARow counts the latest answers that contradict ready.
	inARow int
}

// take takes an answer, and reports what it changes. While the runner is not ready each failure is reported: it is what the probe said last.
func (v *verdict) take(problem error) {
	switch {
	case v.ready == (problem == nil):
		v.inARow = 0
	default:
		v.inARow++
	}
	switch {
	case problem == nil && !v.ready && v.inARow >= v.Successes:
		v.ready, v.inARow = true, 0
		v.report(nil)
	case problem != nil && v.ready && v.inARow >= v.Failures:
		v.ready, v.inARow = false, 0
		v.report(problem)
	case problem != nil && !v.ready:
		v.report(problem)
	}
}
