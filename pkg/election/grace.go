package election

import (
	"context"
	"errors"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Grace is the rest of a term that this member gives up: the lock is still its own, and is released once the
// work has returned. Work that must write something last may do so in its grace.
type Grace struct {
	Token record.Token
	// By is when the grace ends, on CLOCK_BOOTTIME: a tenth of the time before the work must be dead, so that it can
	// return in time.
	By record.Instant

	term Term
}

// givesUp are the reasons for which a member stops its work while it still holds the lock.
var givesUp = map[machine.Reason]bool{
	machine.ReasonPreempted: true, machine.ReasonForced: true, machine.ReasonYielded: true, machine.ReasonShutdown: true,
	machine.ReasonPaused: true, machine.ReasonRemoved: true, machine.ReasonExchanged: true,
}

// Grace returns the grace of the term t, given the context of its runner. It returns nil while the work was not told
// to stop, if the member lost the lock or could not renew it, and for a Term that no Manager began.
func (t Term) Grace(ctx context.Context) *Grace {
	var stop *Stop
	if t.status == nil || ctx.Err() == nil || !errors.As(context.Cause(ctx), &stop) || !stop.kept {
		return nil
	}
	left := clock.Until(t.status.shared.clock, stop.By)
	g := &Grace{Token: t.Token, By: stop.By.Add(-left / 10), term: t}
	if !g.Valid() {
		return nil
	}
	return g
}

// Valid says whether the grace is not over: By has not come, and as far as this member sees, the lock still names
// it and its term.
func (g *Grace) Valid() bool {
	s := g.term.status
	if s.shared.clock.Now() >= g.By {
		return false
	}
	l := s.Leader()
	return !g.term.Fenced() || l.Identity == g.term.Identity && l.Token == g.term.lockToken
}

// OnEnd calls f at By, on a goroutine of its own. forget cancels the call; a call in progress is not awaited.
func (g *Grace) OnEnd(f func(Stop)) (forget func()) {
	timer := clock.AfterFunc(clock.Until(g.term.status.shared.clock, g.By), func() {
		f(Stop{Reason: string(machine.ReasonExpired), By: g.By})
	})
	return func() { timer.Stop() }
}
