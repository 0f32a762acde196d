package scenario

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// work is that of one term.
type work struct {
	c    *contest
	span *span
	// until is the last instant granted.
	until    record.Instant
	stopping bool
}

// begin starts the work of a term.
func begin(c *contest, a machine.Start) *work {
	p := c.i.p
	k := &work{c: c, until: a.Deadline, span: p.w.judge.begin(p.w.now, c.election, p.spec.Name)}
	k.guard()
	return k
}

// guard kills the work at its deadline, whatever its driver does.
func (k *work) guard() {
	p := k.c.i.p
	p.w.at(p.when(k.until), func() {
		switch {
		case k.span.over() || k.stopping:
		case p.now() < k.until:
			k.guard()
		default:
			p.w.judge.outlived++
			k.off("dead by its deadline")
		}
	})
}

// stop has the work end after the scenario's StopTime, or by its deadline.
func (k *work) stop(a machine.Stop) {
	p := k.c.i.p
	k.stopping = true
	after := p.w.s.StopTime
	why := string(a.Reason)
	if left := a.By.Sub(p.now()); after > left {
		after, why = max(0, left), why+"; killed at its deadline"
	}
	lie := time.Duration(0)
	if p.w.s.liar == p.spec.Name {
		lie = time.Second
	}
	p.w.after(after+lie, func() { k.off(why) })
	p.w.after(after, func() {
		k.c.i.do(func() {
			if k.c.given() {
				k.c.work = nil
				k.c.handle(machine.RunnersStopped{})
			}
		})
	})
}

// off: the work has ended.
func (k *work) off(why string) {
	if !k.span.over() {
		k.c.i.p.w.judge.end(k.c.i.p.w.now, k.span, why)
	}
}
