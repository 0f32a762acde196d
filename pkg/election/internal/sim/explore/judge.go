package explore

import (
	"fmt"
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func (w *world) violate(format string, args ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, args...)
	}
}

// atWork says whose work is on, ignoring the work of the given incarnation of the member numbered except.
func (w *world) atWork(except, incarnation int) (who string, token record.Token) {
	for j, m := range w.procs {
		if m.work.on && (j != except || m.incarnation != incarnation) {
			return m.identity, m.work.token
		}
		if m.orphan != 0 {
			return "an orphan of " + name(j), 0
		}
	}
	return "", 0
}

// judgeStart: never two at work; tokens rise; a term starts once, on a stored take of its own, and only
// after the last term's work has stopped.
func (w *world) judgeStart(i int, m *proc, now record.Instant, a member.Start) {
	if who, token := w.atWork(i, m.incarnation); who != "" {
		w.violate("two at work: %s (token %d) starts while %s (token %d) works", name(i), a.Token, who, token)
	}
	switch {
	case m.work.on || m.work.asked:
		w.violate("%s starts before its last work has returned", name(i))
	case m.taken != a.Token:
		w.violate("%s starts with token %d, but its last stored take has token %d", name(i), a.Token, m.taken)
	case a.Token <= w.highest:
		w.violate("%s starts with token %d after %d", name(i), a.Token, w.highest)
	case a.Deadline <= now:
		w.violate("%s starts after its deadline", name(i))
	case m.member.Leaving() != "":
		w.violate("%s starts although it leaves", name(i))
	}
	w.highest = max(w.highest, a.Token)
}

// judgeStop: a stop has its start, and comes early enough for the grace.
func (w *world) judgeStop(i int, m *proc, now record.Instant, a member.Stop) {
	switch {
	case !m.work.on && m.work.until == 0 || m.work.asked:
		w.violate("%s stops what it did not start", name(i))
	case a.By > m.work.until:
		w.violate("%s lets a stop go on for longer than was granted", name(i))
	case a.By < now.Add(w.x.options.Timing.StopGrace) && !m.late && w.x.options.Clocks == Alike:
		w.violate("%s stops its work less than a grace before its deadline", name(i))
	}
}

// judgeAsked: a member writes nothing while another request is under way, reads one thing at a time, and
// releases nothing while its work is on.
func (w *world) judgeAsked(i int, m *proc, q *request) {
	other := func(o request) bool { return o.ofLock() && (q.write != nil || o.write == nil) }
	switch {
	case slices.ContainsFunc(m.requests, other):
		w.violate("%s asks for the lock while another request is on its way", name(i))
	case q.purpose == machine.Release && (m.work.on || m.work.asked):
		w.violate("%s releases before its work has stopped", name(i))
	case q.purpose == machine.Take && (m.work.on || m.work.asked):
		w.violate("%s takes the lock before its last work has stopped", name(i))
	}
}

// judgeStored: a write that is about to be stored takes the lock from no member at work.
func (w *world) judgeStored(i, incarnation int, q *request) {
	if q.purpose != machine.Take && q.purpose != machine.Claim {
		return
	}
	if who, token := w.atWork(i, incarnation); who != "" {
		w.violate("%s takes the lock while %s (token %d) works", name(i), who, token)
	}
	for j, o := range w.procs {
		if s := o.state(); j != i && s != nil && s.Role == machine.Leading && w.local(j) < s.Term.Deadline {
			w.violate("%s takes the lock during the term of %s", name(i), name(j))
		}
	}
	w.judgeTaken(i, incarnation)
	if m := w.procs[i]; m.incarnation == incarnation && !m.dead {
		w.edit(i).taken = q.write.Token
	}
}

// judgeKilled: work has reached its deadline; its manager should have stopped it before.
func (w *world) judgeKilled(i int, m *proc) {
	if !m.work.asked && m.running() && !m.late && w.x.options.Clocks == Alike {
		w.violate("the work of %s was not stopped before its deadline", name(i))
	}
}
