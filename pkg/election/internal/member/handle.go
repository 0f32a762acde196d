package member

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
)

// handle steps the contest's machine with an event, performs its actions, and steps the machines with the
// events that follow from these.
func (m *Member) handle(c *contest, event machine.Event) {
	if c.outer != nil && c.outer.mustStop() {
		m.handle(c.outer, machine.Tick{}) // first: the inner contest must not begin a term now
	}
	var first [2]happening // avoids an allocation: few events have others follow
	pending := first[:0]
	pending = append(pending, happening{c, event})
	for len(pending) > 0 {
		h := pending[0]
		if h.contest.over { // a migration may give up one lock before the other
			pending = pending[1:]
			continue
		}
		room := m.room
		m.room = nil // in use; a nested step must not write to it
		next, actions := machine.StepInto(room, h.contest.config(), h.contest.state, m.now, h.event)
		pending = pending[1:]
		h.contest.state = next
		h.contest.settleRange(h.event)
		for _, a := range actions {
			pending = append(pending, m.perform(h.contest, a)...)
		}
		clear(actions)
		m.room = actions
		m.tendHeed(h.contest)
		m.tendGoing(h.contest)
		if outer := h.contest.outer; outer != nil {
			pending = append(pending, outer.followsInner(h)...)
		}
	}
	if c.inner != nil {
		c = c.inner
	}
	if c.over {
		return
	}
	if c.outer != nil {
		m.tendMove(c.outer)
	}
	m.notice(c)
	m.tendOpen(c)
	if !c.state.Standing(m.now) {
		m.lowered.add(c)
	}
	if rec := c.state.Lock.Record; rec != c.leader {
		c.leader = rec
		m.out.add(Leads{c.election.ID, c.state.Role, leaderOf(&c.state)})
	}
}

// happening is an event for one contest's machine.
type happening struct {
	contest *contest
	event   machine.Event
}

// perform does one action. It returns the events that follow from it at once, if any.
func (m *Member) perform(c *contest, action machine.Action) []happening {
	switch a := action.(type) {
	case machine.Write:
		m.write(c, a)
	case machine.Read:
		m.read(c)
		if a.Behind {
			m.catchUp(m.streamOf(c.lock.store), c.lock.name)
		}
	case machine.Start:
		if c.inner != nil {
			return []happening{{c.inner, machine.Resumed{}}}
		}
		m.start(c, a)
	case machine.Extend:
		switch {
		case c.inner != nil:
			if c.inner.state.Role == machine.Leading {
				m.extendInner(c.inner, c.inner.state.Term.Deadline)
			}
		case c.beats != 0: // the Beat has told the host
		case c.outer != nil: // at once, as below
			m.extendInner(c, a.Deadline)
		default: // at once: the next action may be a Stop, which relies on this deadline
			m.extended(c, a.Deadline)
		}
	case machine.Stop:
		if c.inner != nil {
			return c.stopInner(a)
		}
		stop := Stop{ID: c.election.ID, Reason: a.Reason, By: a.By}
		if c.outer != nil {
			stop.By = min(stop.By, c.outer.stopBy(a.By))
		}
		if m.out.withdraw(stop.ID) { // the term was over before its work began
			c.working = false
		} else {
			m.out.add(stop)
		}
		if !c.working {
			return []happening{{c, machine.RunnersStopped{}}}
		}
	case machine.WakeAt:
		m.rewake(c)
	case machine.EndSession:
		m.notBefore = max(m.notBefore, a.NotBefore)
		m.noteSetBack()
		m.ending = a.Reason // leaving touches every contest, so it waits for attend
	case machine.Disown:
		m.disown(c, a.Disowned)
	case machine.Report:
		m.report(c, a)
	default:
		panic(fmt.Sprintf("election %s: machine asked for %T", c.name(), action))
	}
	return nil
}

func (m *Member) write(c *contest, w machine.Write) {
	if (w.Purpose == machine.Take || w.Purpose == machine.Claim) && c.state.Lock.Owner != machine.Mine {
		c.takenOver = m.takeover(c)
	}
	var renewed time.Time
	if before := c.state.Lock.Record; before != nil && before.Holder == w.Record.Holder { // else the change of holder is visible by itself
		renewed = before.Renewed
	}
	if g := c.election.Ranges; g != nil {
		g.stamp(&w, m.identity, m.wall)
	}
	m.queue.add(asked{contest: c, by: w, request: request{
		store: c.lock.store, name: c.lock.name, purpose: w.Purpose, write: &w.Record, replaces: w.If, renewed: renewed,
	}})
}

func (m *Member) read(c *contest) {
	m.queue.add(asked{contest: c, request: request{store: c.lock.store, name: c.lock.name}})
}

func (m *Member) written(c *contest, w machine.Write, a answer) {
	m.streamOf(c.lock.store).reaches(a.entry.Version.Revision)
	outcome := outcomeOf(a)
	if outcome == machine.Committed {
		c.stored(w.Beat)
	}
	if c.outer != nil {
		c.outer.waiting.failing = a.err != nil && outcome != machine.Conflicted
	}
	if outcome == machine.Conflicted {
		m.trouble.note("write", c.lock, nil) // another member was faster
	} else {
		m.trouble.note("write", c.lock, a.err)
	}
	m.handle(c, machine.WriteDone{
		Beat: w.Beat, Answer: outcome, Record: a.entry.Record, Version: a.entry.Version,
		// The machine need not wait for longer: the queue already enforces the store's wait for all
		// elections, and probes whether it is over.
		Sent: a.sent, RetryAfter: min(a.retryAfter(), c.election.Timing.RenewInterval), Jitter: m.jitter(),
	})
}

func (m *Member) readBack(c *contest, a answer) {
	m.trouble.note("read", c.lock, a.err)
	if a.err != nil {
		m.handle(c, machine.ReadFailed{})
		return
	}
	m.handle(c, machine.Observed{
		Source: machine.ReadBack, Record: a.entry.Record, Version: a.entry.Version, Sent: a.sent,
		Altered: m.altered(c, a.entry), Jitter: m.jitter(),
	})
}

// start tells the host to begin a term.
func (m *Member) start(c *contest, a machine.Start) {
	token, deadline := a.Token, a.Deadline
	if c.outer != nil {
		if c.outer.state.Role != machine.Leading {
			panic(fmt.Sprintf("election %s: a term begins although this member does not hold the migration's old lock", c.name()))
		}
		token, deadline = max(token, c.outer.state.Term.Token), min(deadline, c.outer.state.Term.Deadline)
	}
	m.publishRange(c)
	c.token, c.working = token, c.election.Works
	m.out.add(Start{ID: c.election.ID, Token: token, Cycle: int(c.election.Before) + a.Cycle, Deadline: deadline})
}

// returned handles the return of a term's runner.
func (m *Member) returned(in Returned) {
	c := m.contests.of[in.ID]
	if c == nil || !c.working || c.token != in.Token {
		return
	}
	log := m.log.With(zap.String("election", c.name()), zap.Uint64("term", uint64(in.Token)))
	if c.state.Role == machine.Leading && in.Expired {
		// The guard stopped the work while the host was held up, and a renewal arrived too late. The term
		// is over all the same, and nothing failed. A new term may begin as before; in a migration the
		// outer contest decides that.
		m.handle(c, machine.WorkExpired{})
	}
	c.working = false
	if panicked, is := errors.AsType[*PanicError](in.Err); is {
		log.Log(zap.ErrorLevel, "runner panicked; its term is over", zap.String("panic", fmt.Sprint(panicked.Value)), zap.String("stack", panicked.Stack))
	}
	if c.state.Role == machine.Leading {
		// The runner stopped by itself. The machine gives the term up; its Stop finds no work any more.
		log.Warn("runner returned during its term; giving up the term", zap.Error(in.Err))
		m.handle(c, machine.RunnersFailed{})
		return
	}
	if in.Err != nil {
		log.Warn("runner stopped with an error", zap.Error(in.Err))
	}
	m.handle(c, machine.RunnersStopped{})
}

func (m *Member) report(c *contest, a machine.Report) {
	if a.Kind != machine.RoleChanged {
		m.raise(c, a)
		return
	}
	log := m.log.With(zap.String("election", c.name()))
	if c.inner != nil {
		log.Info("old lock of the migration: "+a.Role.String(), zap.Uint64("term", uint64(a.Token)), zap.String("reason", string(a.Reason)))
		return
	}
	log = log.With(zap.Uint64("term", uint64(c.token))) // the work's: in a migration each lock has a token of its own
	fields := []zap.Field{zap.String("reason", string(a.Reason))}
	if a.Role == machine.Leading {
		fields = append(fields, c.takenOver.fields(m.now)...)
		c.takenOver = nil
	}
	if cause := c.state.Drain.Cause; a.Role == machine.Draining && cause != 0 {
		fields = append(fields, zap.Stringer("cause", cause)) // the better member is...
	}
	log.Info(a.Role.String(), fields...)
	c.leader = c.state.Lock.Record
	m.out.add(Changed{
		ID: c.election.ID, Role: a.Role, Reason: a.Reason, Token: c.token, Cycle: int(c.election.Before) + int(c.state.Cycle),
		Leader: leaderOf(&c.state), Lost: a.Role == machine.Draining && !givenUp[a.Reason],
	})
}

// givenUp are the reasons for which a member ends its own term while it still holds the lock.
var givenUp = map[machine.Reason]bool{
	machine.ReasonPreempted: true, machine.ReasonForced: true, machine.ReasonYielded: true, machine.ReasonFailed: true,
	machine.ReasonShutdown: true, machine.ReasonPaused: true, machine.ReasonRemoved: true, machine.ReasonExchanged: true,
}
