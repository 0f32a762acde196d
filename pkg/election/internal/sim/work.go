package sim

import (
	"fmt"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// workKind is how the work of an election runs.
type workKind int

const (
	// inProcess: functions, which die with their process.
	inProcess workKind = iota + 1
	// child: a process under a supervisor, which kills it at the deadline whatever happens to the
	// manager.
	child
)

func (k workKind) String() string {
	switch k {
	case inProcess:
		return "functions"
	case child:
		return "child"
	}
	return fmt.Sprintf("workKind(%d)", int(k))
}

// work is the work of one term.
type work struct {
	m     *contest
	kind  workKind
	token record.Token
	// on: the work has begun and not ended.
	on bool
	// until is the last instant granted to the work; a stop brings it forward.
	until record.Instant
	// beats is the Since of the Beat effects that also extend this work; zero for none.
	beats record.Instant
	// asked: the work was told to stop. answered: the member knows that the work has ended.
	asked, answered bool
	// expired: the work was killed at the last instant granted.
	expired bool
	guarded int64
	// excused: the judge has counted that it goes on beside the next leader.
	excused bool
}

// start begins the work of a term.
func (m *contest) start(a member.Start) {
	w := m.i.p.h.w
	w.judge.started(m, a)
	m.work = &work{m: m, kind: w.kinds[m.election], token: a.Token, on: true, until: a.Deadline}
	w.judge.atWork(m.work)
	m.work.guard()
}

// guard has the supervisor check the work at its deadline.
func (k *work) guard() {
	w, h := k.m.i.p.h.w, k.m.i.p.h
	at := max(h.clock.when(k.until), w.now)
	k.guarded = at
	w.at(at, func() {
		if !k.on || k.guarded != w.now {
			return
		}
		if h.clock.local(w.now) < k.until {
			k.guard()
			return
		}
		k.expire()
	})
}

// expire is called at the last instant granted while the work is still on.
func (k *work) expire() {
	w, p := k.m.i.p.h.w, k.m.i.p
	w.cov.saw(KilledAtDeadline)
	k.expired = true
	k.off("dead by the deadline")
	switch {
	case p.dead:
	case k.kind == inProcess && !p.paused && k.asked:
		// A function that ignores its stop ends the process, and with it the session.
		p.kill("a function did not return within its grace")
		w.cov.saw(ProcessEnded)
		p.h.restartSoon()
	case !p.paused && !k.asked:
		w.judge.outlived(k)
	}
}

// off ends the work; the member learns of the end later.
func (k *work) off(why string) {
	if !k.on {
		return
	}
	w := k.m.i.p.h.w
	k.on = false
	w.judge.offWork(k)
	k.m.i.p.mourn()
	if w.tracing() {
		w.logf(k.m.i.p.h.name, "%s: work of token %d is off: %s", k.m.name, k.token, why)
	}
	expired := k.expired && !k.asked
	w.after(w.upTo(time.Millisecond), func() {
		k.m.i.p.tell(fromWork, k.m.i, member.Returned{ID: k.m.id, Token: k.token, Expired: expired})
	})
}

func (k *work) extend(until record.Instant) {
	k.until = max(k.until, until)
}

// stop asks the work to end by a.By. Some work returns soon, some late, some never.
func (k *work) stop(a member.Stop) {
	w, h := k.m.i.p.h.w, k.m.i.p.h
	k.asked = true
	k.until = min(k.until, a.By)
	if !k.on {
		return
	}
	k.guard()
	after := w.upTo(k.m.timing().StopGrace / 4)
	switch p := w.rng.Float64(); {
	case p < 0.3:
		after = w.upTo(k.m.timing().StopGrace * 9 / 10)
		w.cov.saw(SlowToStop)
	case p < 0.4 && !w.calm:
		if k.kind == child {
			return // the supervisor will kill it
		}
		if w.chance(0.3) {
			return
		}
		after = k.m.timing().StopGrace * 9 / 10
	}
	w.after(after, func() {
		if k.on && (k.m.i.p.dead || !k.m.i.p.paused || k.kind == child) && h.clock.local(w.now) < k.until {
			k.off("stopped")
		}
	})
}

// fail ends the work from within.
func (k *work) fail() { k.off("failed") }

// orphan is called when the work's process is gone.
func (k *work) orphan() {
	if k.kind == inProcess {
		k.off("died with its process")
	} else if k.on {
		k.m.i.p.h.w.cov.saw(Orphaned)
	}
}
