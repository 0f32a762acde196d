package scenario

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// work is the work of one term.
type work struct {
	i        *incarnation
	election member.ID
	token    record.Token
	span     *span
	// until is the last instant granted.
	until record.Instant
	// beats is the Since of the Beat effects that also extend this work; zero for none.
	beats    record.Instant
	stopping bool
}

// begin starts the work of a term.
func begin(i *incarnation, a member.Start) *work {
	p := i.p
	k := &work{i: i, election: a.ID, token: a.Token, until: a.Deadline, span: p.w.judge.begin(p.w.now, int(a.ID), p.spec.Name)}
	k.guard()
	return k
}

// guard kills the work at its deadline, whatever the member does.
func (k *work) guard() {
	p := k.i.p
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

// stop has the work end after the scenario's StopTime, but by its deadline.
func (k *work) stop(a member.Stop) {
	p := k.i.p
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
		if k.i.works[k.election] == k {
			k.i.works[k.election] = nil
		}
		k.i.do(member.Returned{ID: k.election, Token: k.token})
	})
}

// off ends the work.
func (k *work) off(why string) {
	if !k.span.over() {
		k.i.p.w.judge.end(k.i.p.w.now, k.span, why)
	}
}
