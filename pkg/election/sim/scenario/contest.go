package scenario

import (
	"fmt"
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// contest is one incarnation's part in one election.
type contest struct {
	i        *incarnation
	election int
	cfg      machine.Config
	state    machine.State
	work     *work
	// beatSent is when the last beat of our session went out that the machine was told of.
	beatSent record.Instant
	// tickAt is when the machine wants a Tick; zero for never.
	tickAt record.Instant
}

func newContest(i *incarnation, election int) *contest {
	s, e := i.p.w.s, &i.p.w.s.Elections[election]
	return &contest{
		i: i, election: election, state: machine.Initial(),
		cfg: machine.Config{
			Election: e.Name, Group: s.Group, Member: i.member(), Timing: e.Timing, Policy: e.Policy, Bootstrap: e.Bootstrap,
			NotBefore: i.notBefore, Foreign: e.Foreign, Range: e.Range, Outage: e.Outage, Renewal: e.Renewal,
		},
	}
}

// object is the name of the lock. No session has such a name.
func (c *contest) object() string { return "lock:" + c.cfg.Election }

// given says whether the contest is still driven.
func (c *contest) given() bool { return c.i.p.inc == c.i && c.i.contests[c.election] == c }

// handle lets the machine take in an event and does what it asks for.
func (c *contest) handle(event machine.Event) {
	pending := []machine.Event{event}
	if _, is := event.(machine.BeatSeen); !is && c.beatSent < c.i.beat.Sent {
		pending = []machine.Event{c.i.beat, event}
	}
	for len(pending) > 0 {
		if b, is := pending[0].(machine.BeatSeen); is {
			c.beatSent = b.Sent
		}
		next, actions := machine.Step(c.cfg, c.state, c.i.p.now(), pending[0])
		pending = pending[1:]
		c.state = next
		for _, a := range actions {
			if follows := c.perform(a); follows != nil {
				pending = append(pending, follows)
			}
		}
	}
}

// perform does one action; it returns what follows from it at once, if anything.
func (c *contest) perform(action machine.Action) machine.Event {
	w := c.i.p.w
	switch a := action.(type) {
	case machine.Write:
		counts := &w.count.Moves
		if a.Purpose == machine.Renew {
			counts = &w.count.Renewals
		}
		c.i.put(&request{name: c.object(), record: a.Record, replaces: a.If, counts: counts, done: func(q *request) { c.written(a, q) }})
	case machine.Read:
		c.i.get(c.object(), func(e lock.Entry, sent record.Instant) {
			if c.given() {
				c.observed(machine.ReadBack, e, sent)
			}
		}, func() {
			if c.given() {
				c.handle(machine.ReadFailed{})
			}
		})
	case machine.Start:
		c.work = begin(c, a)
	case machine.Extend:
		c.work.until = max(c.work.until, a.Deadline)
	case machine.Stop:
		if w.s.Elections[c.election].Runners == WithoutRunners {
			c.work.off(string(a.Reason))
			c.work = nil
			return machine.RunnersStopped{}
		}
		c.work.stop(a)
	case machine.WakeAt:
		c.tickAt = a.At
	case machine.EndSession:
		c.i.notBefore = max(c.i.notBefore, a.NotBefore)
		c.i.ending = a.Reason // leaving touches every contest, so it waits for attend
	case machine.Disown:
		c.i.disowned = append(slices.DeleteFunc(c.i.disowned, func(d record.Disowned) bool { return d.Lock == a.Lock }), a.Disowned)
	case machine.Report:
		if a.Kind == machine.PassedOver {
			w.note("%s: %s passes over %s, which did not take the lock", c.cfg.Election, c.i.p.spec.Name, c.nameOf(a.Detail))
		}
	default:
		panic(fmt.Sprintf("scenario: machine asked for %T", action))
	}
	return nil
}

// nameOf is the member that has an identity, or what else was said.
func (c *contest) nameOf(detail string) string {
	for _, p := range c.i.p.w.members {
		if p.inc != nil && p.inc.identity == detail {
			return p.spec.Name
		}
	}
	return detail
}

func (c *contest) observed(from machine.Source, e lock.Entry, sent record.Instant) {
	c.handle(machine.Observed{Source: from, Record: e.Record, Version: e.Version, Sent: sent, Jitter: c.i.p.w.rng.Float64()})
}

func (c *contest) written(a machine.Write, q *request) {
	if !c.given() {
		return
	}
	c.handle(machine.WriteDone{
		Beat: a.Beat, Outcome: q.outcome, Record: q.entry.Record, Version: q.entry.Version, Sent: q.sent, Jitter: c.i.p.w.rng.Float64(),
	})
}
