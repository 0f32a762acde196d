package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/session"
)

// host is where one member lives, one process after the other.
type host struct {
	w        *world
	name     string
	clock    clock
	link     link
	timing   record.Timing
	revision string
	location record.Location
	// takesPart says of each election whether the configuration names it.
	takesPart []bool
	ready     bool
	// config names them; it serves as their digest.
	config string
	// preferred is what this host has seen of the preferences so far, and digest is of
	// everything from which they follow.
	preferred []record.Preferred
	digest    string
	// proc is the process that runs; nil while none does.
	proc *proc
	// gone: it never comes back.
	gone bool
}

func newHost(w *world, n int) *host {
	h := &host{w: w, name: fmt.Sprintf("h%d", n), clock: w.pickClock(), link: w.pickLink(), timing: w.timing, ready: true, location: record.Local}
	if w.mixed && n%2 == 1 {
		h.timing = w.shorter
	}
	h.revision = revisions[w.rng.IntN(len(revisions))]
	if w.chance(0.3) {
		h.location = record.Remote
	}
	for range w.elections {
		h.takesPart = append(h.takesPart, n == 0 || w.chance(0.9))
	}
	h.takePart(0, h.takesPart[0])
	h.see(w.unsynced)
	return h
}

// takePart makes the election one that the host's configuration names, or none of them.
func (h *host) takePart(e int, yes bool) {
	h.takesPart[e] = yes
	var names []string
	for e, yes := range h.takesPart {
		if yes {
			names = append(names, h.w.elections[e])
		}
	}
	h.config = strings.Join(names, ",")
}

// see has the host take in the preferences.
func (h *host) see(preferred []record.Preferred) {
	h.preferred = slices.Clone(preferred)
	var b strings.Builder
	for _, p := range preferred {
		b.WriteString(p.String())
		b.WriteByte(' ')
	}
	h.digest = b.String()
}

// boot starts a process, if none runs.
func (h *host) boot() {
	if h.proc != nil || h.gone {
		return
	}
	h.proc = &proc{h: h}
	h.see(h.w.unsynced)
	h.proc.join(0)
	h.w.after(h.w.upTo(h.w.timing.RenewInterval/2), h.syncPreferences)
}

// syncPreferences has the host see what the sources say.
func (h *host) syncPreferences() {
	if h.proc == nil {
		return
	}
	p := h.proc
	p.deliver(fromTimer, func() {
		h.see(h.w.preferred)
		i := p.inc
		for _, m := range i.machines {
			if m != nil {
				m.preference()
			}
		}
		i.publish()
	})
}

// proc is one process.
type proc struct {
	h      *host
	dead   bool
	paused bool
	// resumedAt is when a stopped process last went on.
	resumedAt int64
	inbox     [origins][]func()
	inc       *incarnation
	// leaving: the process exits once its member has left.
	leaving bool
}

// origin is by which way something reaches a process. Within one origin order is kept.
type origin int

const (
	fromStream origin = iota
	fromReply
	fromPool
	fromTimer
	fromWork
	origins
)

// deliver has the process handle f: now, after its pause, or never.
func (p *proc) deliver(o origin, f func()) {
	switch {
	case p.dead:
	case p.paused:
		p.inbox[o] = append(p.inbox[o], f)
	default:
		f()
	}
}

// handles says whether what reaches the process now is handled now.
func (p *proc) handles() bool { return !p.dead && !p.paused }

// pause stops the process with SIGSTOP for a while.
func (p *proc) pause(d time.Duration) {
	w := p.h.w
	p.paused = true
	w.logf(p.h.name, "stopped for %v", d)
	w.after(d, p.resume)
}

// resume lets a stopped process go on with SIGCONT.
func (p *proc) resume() {
	if p.dead || !p.paused {
		return
	}
	p.paused, p.resumedAt = false, p.h.w.now
	p.h.w.logf(p.h.name, "continued")
	p.catchUp()
}

// catchUp handles what came in during a pause; which origin goes first is chance.
func (p *proc) catchUp() {
	for !p.dead && !p.paused {
		var waiting []origin
		for o := range origins {
			if len(p.inbox[o]) > 0 {
				waiting = append(waiting, o)
			}
		}
		if len(waiting) == 0 {
			return
		}
		o := waiting[p.h.w.rng.IntN(len(waiting))]
		f := p.inbox[o][0]
		p.inbox[o] = p.inbox[o][1:]
		f()
	}
}

// kill ends the process with SIGKILL.
func (p *proc) kill(why string) {
	if p.dead {
		return
	}
	p.dead = true
	p.h.proc = nil
	p.h.w.logf(p.h.name, "killed: %s", why)
	for _, m := range p.inc.machines {
		if m != nil && m.work != nil {
			m.work.orphan()
		}
	}
}

// restartSoon boots another process after a while.
func (h *host) restartSoon() {
	h.w.after(h.w.between(100*time.Millisecond, h.w.timing.LeaseDuration), h.boot)
}

// join begins a new incarnation.
func (p *proc) join(notBefore record.Instant) {
	h := p.h
	w := h.w
	i := &incarnation{p: p, identity: record.NewIdentity(h.name, uint32(w.rng.Uint64())), notBefore: notBefore} // #nosec G115 -- any 32 of its bits will do
	i.dir = session.NewDirectory(group, h.timing)
	i.own = session.NewOwn(session.Config{Group: group, Host: h.name, Timing: h.timing}, i.dir, i.member())
	i.view, _ = i.dir.View(i.now(), i.identity)
	i.stream = newStream(i)
	i.viewAt.do, i.stepAt.do, i.publishAt.do = i.directoryChanged, i.stepSession, i.publish
	i.machines = make([]*part, len(w.elections))
	p.inc = i
	w.judge.joined(i)
	w.logf(h.name, "joins as %s", i.identity)
	for e, yes := range h.takesPart {
		if yes {
			i.add(e)
		}
	}
	i.stream.list()
}

// incarnation is one member: an identity and all that is bound to it.
type incarnation struct {
	p         *proc
	identity  string
	notBefore record.Instant
	dir       *session.Directory
	own       *session.Own
	stream    *stream
	machines  []*part // by election; nil where it takes no part
	view      *machine.View

	// ending: everything is given up, for the reason given; rejoinAt is the NotBefore of
	// the next incarnation.
	ending   machine.Reason
	rejoinAt record.Instant
	// left is when the session was told to end.
	left record.Instant

	viewAt, stepAt, publishAt alarm
}

func (i *incarnation) now() record.Instant { return i.p.h.clock.local(i.p.h.w.now) }

// alarm is one timer of an incarnation.
type alarm struct {
	at record.Instant // zero while it is off
	do func()
}

// set has the alarm go off at the instant, and no more at an earlier one.
func (i *incarnation) set(a *alarm, when record.Instant) {
	if when == a.at {
		return
	}
	a.at = when
	if when == 0 {
		return
	}
	i.p.h.w.at(i.p.h.clock.when(when), func() {
		if i.p.handles() {
			i.ring(a, when)
		} else {
			i.p.deliver(fromTimer, func() { i.ring(a, when) })
		}
	})
}

func (i *incarnation) ring(a *alarm, when record.Instant) {
	if i.p.inc == i && a.at == when {
		a.at = 0
		a.do()
	}
}

// member is what the session publishes now.
func (i *incarnation) member() record.Member {
	h := i.p.h
	m := record.Member{
		Identity: i.identity, Revision: h.revision, Location: h.location, Weight: 100,
		Ready: h.ready, Preference: h.digest, Config: h.config,
	}
	now := i.now()
	for _, part := range i.machines {
		if part != nil && !part.state.Standing(now) {
			m.Standing = append(m.Standing, part.name)
		}
	}
	return m
}

func (i *incarnation) publish() {
	i.own.Publish(i.member())
	i.stepSession()
	var next record.Instant
	for _, part := range i.machines {
		if part != nil && !part.state.Standing(i.now()) && (next == 0 || part.state.StandDownUntil < next) {
			next = part.state.StandDownUntil
		}
	}
	i.set(&i.publishAt, next)
}

// directoryChanged draws the consequences of anything learned about sessions, or of time.
func (i *incarnation) directoryChanged() {
	view, changes := i.dir.View(i.now(), i.identity)
	i.set(&i.viewAt, changes)
	if view != i.view {
		i.view = view
		for _, m := range i.machines {
			if m != nil {
				m.step(machine.DirectoryChanged{View: view})
			}
		}
	}
	i.stepSession()
}

// onlyABeat says whether a session shows nothing new about a known member but that it
// lives. What follows from that waits for the next tick, as it would anyway.
func (i *incarnation) onlyABeat(r *record.Record) bool {
	return r != nil && r.Bound() && r.Member != nil && slices.ContainsFunc(i.view.Peers, func(p machine.Peer) bool {
		return p.Identity == r.Holder && p.Equal(r.Member)
	})
}

// stepSession lets the session do what is due.
func (i *incarnation) stepSession() {
	w := i.p.h.w
	actions, next := i.own.Step(i.now())
	i.set(&i.stepAt, next)
	for _, action := range actions {
		switch a := action.(type) {
		case session.Write:
			w.judge.wrote(i, nil)
			i.put(&request{i: i, name: a.Name, record: a.Record, replaces: a.If, beat: a.Beat})
		case session.Read:
			i.get(a.Name, func(e lock.Entry, sent record.Instant) {
				if !i.dir.Read(i.now(), sent, e.Name, e.Record, e.Version) {
					i.resetSeen()
				}
				i.own.ReadDone()
				i.directoryChanged()
			}, func() {
				i.own.ReadFailed(i.now())
				i.stepSession()
			})
		}
	}
	if why, lost := i.own.Lost(); lost && i.ending == "" {
		w.logf(i.p.h.name, "session lost: %s", why)
		w.cov.saw(SessionLost)
		i.end(machine.ReasonSession, 0)
	}
}

// written takes in what became of a write of the session.
func (i *incarnation) written(q *request) {
	if q.outcome == machine.Committed {
		i.dir.Observe(i.now(), q.name, q.entry.Record, q.entry.Version)
	}
	if q.beat != 0 {
		i.own.WriteDone(i.now(), q.beat, q.outcome, q.entry.Version)
	}
	i.directoryChanged()
}

// resetSeen: the store shows less than was known, so it was reset.
func (i *incarnation) resetSeen() {
	w := i.p.h.w
	w.judge.doubted(i)
	i.end(machine.ReasonRestored, i.now().Add(i.p.h.timing.ObserverWait(w.timing.LeaseDuration)))
}

// end gives everything up; the next incarnation, if any, follows once all has settled.
func (i *incarnation) end(why machine.Reason, notBefore record.Instant) {
	i.rejoinAt = max(i.rejoinAt, notBefore)
	if i.ending != "" {
		return
	}
	i.ending = why
	i.p.h.w.after(0, func() {
		i.p.deliver(fromTimer, func() {
			if i.p.inc != i {
				return
			}
			for _, m := range i.machines {
				if m != nil {
					m.step(machine.Resign{Reason: why})
				}
			}
			i.settle()
		})
	})
}

// settle goes on with the end as far as it can.
func (i *incarnation) settle() {
	w, now := i.p.h.w, i.now()
	again := func() {
		w.after(w.timing.RenewInterval/10, func() {
			i.p.deliver(fromTimer, func() {
				if i.p.inc == i {
					i.settle()
				}
			})
		})
	}
	for _, m := range i.machines {
		if m != nil && !m.settled() {
			again()
			return
		}
	}
	if i.left == 0 {
		i.left = now
		i.own.Leave()
		i.stepSession()
	}
	if !i.own.Over() {
		if now.Sub(i.left) < i.p.h.timing.LeaseDuration {
			again()
			return
		}
		i.own.Abandon()
	}
	if i.p.leaving {
		i.p.dead = true
		i.p.h.proc = nil
		w.logf(i.p.h.name, "has left")
		w.cov.saw(Left)
		i.p.h.restartSoon()
		return
	}
	w.cov.saw(Rejoined)
	i.p.join(i.rejoinAt)
}

func (i *incarnation) machineOf(name string) *part {
	for _, m := range i.machines {
		if m != nil && m.name == name {
			return m
		}
	}
	return nil
}
