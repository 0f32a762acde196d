//go:build linux

package deadman

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
)

// Watch says how to watch over a program during a term.
type Watch struct {
	// StopGrace is the most time between the order to stop and the kill.
	StopGrace time.Duration
	// Ask, if set, asks the work to stop. It is called when the term is stopped, before SIGTERM is
	// sent, on a goroutine of its own. It returns when the work has got the request, or when ctx
	// ends.
	Ask func(ctx context.Context)
	// Done, if set, is closed when the work is over though the program may still run. The program
	// is then stopped.
	Done <-chan struct{}
	// Clock reads CLOCK_BOOTTIME; nil means the real one.
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
	// Over: its work was over (Watch.Done), so it was stopped.
	Over
)

func (e Ending) String() string {
	return map[Ending]string{ByItself: "by itself", Stopped: "stopped", Expired: "expired", Over: "over"}[e]
}

// KillAt returns when to kill work that must be dead at the instant dead. The kill comes earlier than
// dead by a fifth of the time left, within bounds: dying takes a moment, and a busy machine is slow.
func KillAt(c clock.Clock, dead record.Instant) record.Instant {
	return dead.Add(-margin(c, dead))
}

func margin(c clock.Clock, dead record.Instant) time.Duration {
	return min(max(clock.Until(c, dead)/5, leastKillMargin), mostKillMargin)
}

const (
	leastKillMargin = 50 * time.Millisecond
	mostKillMargin  = 500 * time.Millisecond
	// askFor is how long we wait for the work to get the request to stop, before we send the signal.
	askFor = 200 * time.Millisecond
	// overdue is how long a killed process may take to die before we log that.
	overdue = 2 * time.Second
	// guardEnds is how long a guard may take to end when nothing is left. It is below the least
	// margin, so that a frozen guard does not make the work outlast its term.
	guardEnds = leastKillMargin / 2
	// mostFinishing bounds how long a start may still go on after its stop.
	mostFinishing = time.Second
	// abandonedEnds is how long supervisor and guard may take to end a start that was given up.
	// Whoever stops the work may have to wait that long.
	abandonedEnds = leastKillMargin
	// nap bounds the wait for an instant: timers stand still while the machine sleeps,
	// CLOCK_BOOTTIME does not.
	nap = time.Second
)

// Watch passes the term's extensions on and makes sure that the program ends when the term does. It
// returns when nothing of the program lives.
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
	full := false
	var telling sync.WaitGroup
	defer telling.Wait()
	tell := func(h cgroup.Hits) { // once a run: some programs try all the time
		if !full && h.Refused > 0 {
			full = true
			telling.Go(func() { // the log may block
				w.Log.Warn("the program has, with all that it has started, as many processes and threads as limits.processes allows: it gets no more",
					zap.Uint64("processes", p.status.limits.Processes))
			})
		}
	}
	for {
		tell(p.hits())
		timer := clock.NewTimer(min(nap, max(0, clock.Until(w.Clock, kill))))
		select {
		case <-p.dead:
			timer.Stop()
			tell(p.status.hits)
			if end = p.ending(end); end == Expired {
				w.Log.Error("the term's deadline came without an extension; the program was killed")
			}
			return end
		case <-stopped:
			// From here on we extend nothing.
			stopped, extended, done = nil, nil, nil
			kill, dead = w.last(ctx, kill, deadline)
			if end == Over { // the program was told to stop already
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
			var dying sync.WaitGroup
			dying.Go(func() { p.awaitDeath(w, dead) })
			if end == ByItself { // the log may block
				end = Expired
				w.Log.Error("the term's deadline came without an extension; the program is killed")
			} else {
				w.Log.Warn("the program did not stop in its grace and is killed", zap.Duration("stopGrace", w.StopGrace))
			}
			dying.Wait()
			return p.ending(end)
		}
		timer.Stop()
	}
}

// ending is why the program ended, which is dead, if end is what we know of it. Its supervisor may have killed it at its deadline
// before we noticed that; a plugin that is killed hangs up, which looks as if its work were over.
func (p *Process) ending(end Ending) Ending {
	if p.expired && end != Stopped || p.overran && end == ByItself {
		return Expired
	}
	return end
}

// last returns when to kill a program that must stop (at) and when it must be dead: it is killed
// after its grace, and in any case before it must be dead.
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

// ask calls the given function; the channel closes when it is time for the signal.
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

// awaitDeath orders the kill and waits for the end. After half of the time that is left it kills the program without the
// supervisor and its guard, even if these have begun their kill: they may freeze at any moment.
func (p *Process) awaitDeath(w Watch, dead record.Instant) {
	p.Kill()
	timer := clock.NewTimer(min(nap, max(leastKillMargin/2, clock.Until(w.Clock, dead)/2)))
	defer timer.Stop()
	select {
	case <-p.dead:
		return
	case <-timer.C:
		var forcing sync.WaitGroup
		forcing.Go(p.force)
		defer forcing.Wait()
		p.logForce(w.Log) // the log may block
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

// logForce logs why the program is killed without its supervisor and its guard.
func (p *Process) logForce(log *zap.Logger) {
	select {
	case <-p.killing:
		log.Warn("the supervisor, or its guard, is not done with its kill; the program is killed without them, too")
	default:
		log.Warn("neither the supervisor nor its guard answers; the program is killed without them")
	}
}
