package deadman

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Watch is how a program is watched over during a term.
type Watch struct {
	// StopGrace is the time between being told to stop and the kill, at most.
	StopGrace time.Duration
	// Ask, if set, is called when the term is stopped, before SIGTERM is sent and on a
	// goroutine of its own; it returns when it was heard, or when ctx ends.
	Ask func(ctx context.Context)
	// Done, if set, is closed when the work is over though the program may still run. It
	// is then stopped.
	Done <-chan struct{}
	// Clock is that of production, unless set.
	Clock clock.Clock
	Log   *zap.Logger
}

// Ending is why a program ended.
type Ending int

// Why programs end.
const (
	ByItself Ending = iota + 1
	Stopped
	Expired
	// Over: its work was over (Watch.Done), and it was stopped for that.
	Over
)

func (e Ending) String() string {
	return map[Ending]string{ByItself: "by itself", Stopped: "stopped", Expired: "expired", Over: "over"}[e]
}

// KillAt is when the kill is due of work that must be dead at the instant: before it, since
// dying takes a moment, and so does a machine that is busy. What is left is a fifth of the
// time that there is, within bounds.
func KillAt(c clock.Clock, dead record.Instant) record.Instant {
	return dead.Add(-margin(c, dead))
}

func margin(c clock.Clock, dead record.Instant) time.Duration {
	return min(max(clock.Until(c, dead)/5, leastKillMargin), mostKillMargin)
}

const (
	leastKillMargin = 50 * time.Millisecond
	mostKillMargin  = 500 * time.Millisecond
	// askFor is how long the work may take to hear that it is to stop, before the signal.
	askFor = 200 * time.Millisecond
	// overdue is how long a killed process may take to die before that is logged.
	overdue = 2 * time.Second
	// guardEnds is how long a guard may take to end when nothing is left. It is within the least
	// margin, so that a frozen one does not make the work outlast its term.
	guardEnds = leastKillMargin / 2
	// mostFinishing bounds how long a start may go on that is stopped.
	mostFinishing = time.Second
	// abandonedEnds is how long those that watch over a program may take to end a start that was
	// given up. Somebody who stops the work may wait for it.
	abandonedEnds = leastKillMargin
	// nap bounds the wait for an instant: timers stand still while the machine sleeps,
	// CLOCK_BOOTTIME does not.
	nap = time.Second
)

// Watch passes the term's extensions on, sees to it that the program ends when the term
// does, and returns when nothing of it lives.
func (p *Process) Watch(ctx context.Context, term election.Term, w Watch) Ending {
	if w.Clock == nil {
		w.Clock = clock.Boottime()
	}
	end := ByItself
	stopped, done := ctx.Done(), w.Done
	var asked <-chan struct{}
	var asking asker
	defer asking.end()
	deadline, extended := term.Deadline()
	kill, dead := KillAt(w.Clock, deadline), deadline
	p.order(extend, kill, dead)
	for {
		timer := clock.NewTimer(min(nap, max(0, clock.Until(w.Clock, kill))))
		select {
		case <-p.dead:
			timer.Stop()
			if end == ByItself && p.expired {
				w.Log.Error("the term's deadline came without an extension; the program was killed")
				return Expired
			}
			return end
		case <-stopped:
			// From here on nothing is extended.
			stopped, extended, done = nil, nil, nil
			kill, dead = w.last(ctx, kill, deadline)
			if end == Over { // it was told
				p.order(stop, kill, dead)
				break
			}
			end = Stopped
			p.order(extend, kill, dead)
			asked = asking.ask(w.Ask)
		case <-asked:
			asked = nil
			p.order(stop, kill, dead)
		case <-done:
			end, done, extended = Over, nil, nil
			kill = min(kill, w.Clock.Now().Add(w.StopGrace))
			p.order(stop, kill, dead)
		case <-extended:
			deadline, extended = term.Deadline()
			kill, dead = KillAt(w.Clock, deadline), deadline
			p.order(extend, kill, dead)
		case <-timer.C:
			if w.Clock.Now() < kill {
				break
			}
			if end == ByItself {
				end = Expired
				w.Log.Error("the term's deadline came without an extension; the program is killed")
			} else {
				w.Log.Warn("the program did not stop in its grace and is killed", zap.Duration("stopGrace", w.StopGrace))
			}
			p.awaitDeath(w, dead)
			return end
		}
		timer.Stop()
	}
}

// last is when a program that is being stopped is killed: after its grace, and in any case
// before it must be dead.
func (w Watch) last(ctx context.Context, kill, deadline record.Instant) (at, dead record.Instant) {
	kill = min(kill, w.Clock.Now().Add(w.StopGrace))
	if s, ok := election.StopOf(ctx); ok && s.By != 0 {
		kill, deadline = min(kill, KillAt(w.Clock, s.By)), min(deadline, s.By)
	}
	return kill, deadline
}

// asker asks the work to stop, once.
type asker struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// ask is done, and the channel closed, when it is time for the signal.
func (a *asker) ask(ask func(context.Context)) <-chan struct{} {
	asked := make(chan struct{})
	if ask == nil {
		close(asked)
		return asked
	}
	a.ctx, a.cancel = context.WithTimeout(context.Background(), askFor)
	a.wg.Go(func() {
		defer close(asked)
		ask(a.ctx)
	})
	return asked
}

func (a *asker) end() {
	if a.cancel != nil {
		a.cancel()
	}
	a.wg.Wait()
}

// awaitDeath has the program killed and waits for its end. Where neither the supervisor nor
// its guard begins while it is still time, it is killed without them.
func (p *Process) awaitDeath(w Watch, dead record.Instant) {
	p.Kill()
	timer := clock.NewTimer(min(nap, max(leastKillMargin/2, clock.Until(w.Clock, dead)/2)))
	defer timer.Stop()
	select {
	case <-p.dead:
		return
	case <-p.killing:
	case <-timer.C:
		w.Log.Warn("neither the supervisor nor its guard answers; the program is killed without them")
		var forcing sync.WaitGroup
		forcing.Go(p.force)
		defer forcing.Wait()
	}
	timer.Reset(overdue)
	select {
	case <-p.dead:
		return
	case <-timer.C:
		w.Log.Error("the program was killed and does not die; it may hang in the kernel")
	}
	<-p.dead
}
