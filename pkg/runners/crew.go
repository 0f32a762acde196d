package runners

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// crew runs the workers of one term. Only the goroutine of work uses it; other goroutines send that
// goroutine functions, through events.
type crew struct {
	*supervisor
	ctx    context.Context
	term   election.Term
	events chan func()
	// lasts ends when the stop begins, before any worker is told to stop. A run that ends later than
	// lasts has not failed, and is not run again.
	lasts context.Context
	over  context.CancelFunc

	// hands are the workers started, in order.
	hands []*hand
	// atWork counts the hands that have not returned.
	atWork int
	failed []error

	// stop is why the stop began; nil before that. by is when all workers must have stopped.
	stop error
	by   record.Instant
	// untold counts the hands that have not been told to stop. Stops go from last to first, so these
	// are the first hands.
	untold int
	// share fires when we tell the next hand to stop although the one told before still works; late
	// fires when all hands must have stopped.
	share, late *clock.Timer
	// heldUp: this process was held up past the deadline, and gave the workers a moment more.
	heldUp bool
}

// moment is how much longer we wait for workers to return if this process was held up past the
// deadline: a supervisor may have killed their programs in time, and we learn of it only now.
const moment = 250 * time.Millisecond

// hand is a worker in a term.
type hand struct {
	worker
	ctx    context.Context
	cancel context.CancelCauseFunc
	// up is closed once the worker is up, or, if it is no Announcer, started.
	up     chan struct{}
	once   sync.Once
	toldAt record.Instant // zero until it is told to stop
	gone   bool
}

// isUp says whether the worker's first run has been up.
func (h *hand) isUp() bool {
	select {
	case <-h.up:
		return true
	default:
		return false
	}
}

func (h *hand) announce() { h.once.Do(func() { close(h.up) }) }

// work starts the workers and returns when all have returned.
func (c *crew) work() error {
	c.share, c.late = stopped(), stopped()
	defer c.share.Stop()
	defer c.late.Stop()
	c.lasts, c.over = context.WithCancel(c.ctx)
	defer c.over()
	done := c.ctx.Done()
	for up := c.fill(); c.atWork > 0; up = c.fill() {
		select {
		case event := <-c.events:
			event()
		case <-up:
		case <-done:
			done = nil
			c.begin(context.Cause(c.ctx), stopBy(c.ctx, c.term))
		case <-c.share.C:
			c.next()
		case <-c.late.C:
			if late := c.Clock.Now().Sub(c.by); late > moment && !c.heldUp {
				c.heldUp = true
				c.late.Reset(moment)
				break
			}
			c.Log.Error("runners are at work after the instant by which they must have stopped",
				zap.String("election", c.term.Election), zap.Strings("runners", c.names()))
		}
		if c.stop == nil && len(c.failed) > 0 {
			c.giveUp(c.failed[0])
		}
	}
	if c.stop == nil && c.ctx.Err() == nil {
		return ErrAllEnded
	}
	return errors.Join(c.failed...)
}

// fill starts workers in order until one is not up yet. It returns a channel that closes when that
// worker is up.
func (c *crew) fill() (up <-chan struct{}) {
	for c.stop == nil && c.ctx.Err() == nil && len(c.hands) < len(c.workers) {
		if n := len(c.hands); n > 0 && !c.hands[n-1].isUp() {
			return c.hands[n-1].up
		}
		c.start(c.workers[len(c.hands)])
	}
	return nil
}

func (c *crew) start(w worker) {
	h := &hand{worker: w, up: make(chan struct{})}
	if _, tells := w.Runner.(Announcer); !tells {
		h.announce()
	}
	// Not cancelled with c.ctx: next tells each hand to stop, in its turn.
	h.ctx, h.cancel = context.WithCancelCause(context.WithoutCancel(c.ctx))
	c.hands = append(c.hands, h)
	c.atWork++
	go func() { // joined by work
		err := c.keep(h)
		c.events <- func() { c.ended(h, err) }
	}()
}

func (c *crew) ended(h *hand, err error) {
	h.gone = true
	h.cancel(nil)
	c.atWork--
	if h.toldAt != 0 {
		h.stopped(c.Clock.Now().Sub(h.toldAt))
	}
	if err != nil {
		c.failed = append(c.failed, err)
	}
	toldAreGone := !slices.ContainsFunc(c.hands[c.untold:], func(h *hand) bool { return !h.gone })
	if c.stop != nil && toldAreGone {
		c.next()
	}
}

// giveUp ends the term because of a worker.
func (c *crew) giveUp(why error) {
	// Tell the term's keeper, or it would extend the term while a worker hangs.
	if c.term.GiveUp(why.Error()) {
		<-c.ctx.Done() // callbacks of OnEnd may still run: the context ends after them
		c.begin(context.Cause(c.ctx), stopBy(c.ctx, c.term))
		return
	}
	deadline, _ := c.term.Deadline()
	c.begin(&election.Stop{Reason: why.Error(), By: deadline}, deadline)
}

// begin begins to stop the workers.
func (c *crew) begin(why error, by record.Instant) {
	if c.stop != nil {
		return
	}
	c.stop, c.by, c.untold = why, by, len(c.hands)
	c.over()
	c.late.Reset(max(0, clock.Until(c.Clock, by)))
	c.next()
}

// next tells the last untold worker to stop. Call it when the workers after that one have returned,
// or when their share of the time is over.
func (c *crew) next() {
	for c.untold > 0 {
		c.untold--
		h := c.hands[c.untold]
		if h.gone {
			continue
		}
		h.toldAt = max(c.Clock.Now(), 1)
		h.cancel(c.stop)
		left := c.by.Sub(h.toldAt)
		c.share.Reset(max(0, left/time.Duration(1+c.untold)))
		return
	}
	c.share.Stop()
}

// names returns the workers that have not returned.
func (c *crew) names() (names []string) {
	for _, h := range slices.DeleteFunc(slices.Clone(c.hands), func(h *hand) bool { return h.gone }) {
		names = append(names, h.Name)
	}
	return names
}

// stopped returns a timer that does not run.
func stopped() *clock.Timer {
	t := clock.NewTimer(time.Hour)
	t.Stop()
	return t
}

// stopBy returns the instant by which a cancelled runner must have stopped.
func stopBy(ctx context.Context, term election.Term) record.Instant {
	if stop, ok := election.StopOf(ctx); ok {
		return stop.By
	}
	deadline, _ := term.Deadline()
	return deadline
}
