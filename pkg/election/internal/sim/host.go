package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// host is where one member runs, one process after the other.
type host struct {
	w        *world
	name     string
	clock    clock
	link     link
	timing   record.Timing
	policy   priority.Policy
	revision string
	location record.Location
	// perSecond is the most requests that its member sends per second.
	perSecond float64
	// takesPart says of each election whether the host's configuration names it.
	takesPart []bool
	// renewal says of each election what keeps this host's terms alive.
	renewal []record.Renewal
	ready   bool
	// stages says which locks of each election the host knows, ranges what its process knows of their ranges,
	// and wallOffset how far the host's wall clock is off.
	stages     []stage
	ranges     []*member.Ranges
	wallOffset time.Duration
	// seen is what this host has seen of the preferences so far.
	seen *preference
	// ids is the last election number that was given out. terms counts the terms of each election in this
	// process.
	ids   member.ID
	terms []int
	// guarded: its processes have a parent that proves their deaths.
	guarded bool
	// accepts are the words that its members accept. booted counts the boots of its kernel; reboots: each process is of
	// a boot of its own.
	accepts []record.Proof
	booted  int
	reboots bool
	// given are the present forms of the elections, in the class Settings. next is the timing of its next process; nil for the same.
	given []*form
	next  *record.Timing
	// proc is the process that runs; nil while none does.
	proc *proc
	// gone: the host never comes back.
	gone bool
}

func newHost(w *world, n int) *host {
	h := &host{w: w, name: fmt.Sprintf("h%d", n), clock: w.pickClock(), link: w.pickLink(), timing: w.timing, policy: w.policy, ready: true, location: record.Local}
	if w.mixed && n%2 == 1 {
		h.timing = w.shorter
	}
	h.revision = revisions[w.rng.IntN(len(revisions))]
	if w.chance(0.3) {
		h.location = record.Remote
	}
	for range w.elections {
		h.takesPart = append(h.takesPart, n == 0 || w.chance(w.takes))
	}
	h.given = slices.Repeat([]*form{{}}, len(w.elections))
	h.terms = make([]int, len(w.elections))
	h.see(w.unsynced)
	return h
}

// vary gives the host a configuration of its own, as while a new configuration is rolled out: another
// policy, and other delays.
func (h *host) vary(rng *rand.Rand) {
	if rng.IntN(3) == 0 {
		h.policy = priority.None{}
	}
	t := &h.timing
	t.PreemptDelay *= time.Duration(rng.IntN(4))
	t.MinHold *= time.Duration(rng.IntN(3))
	t.NominateDelay = t.NominateDelay * time.Duration(1+rng.IntN(3)) / 2
	t.StandDown = t.StandDown * time.Duration(1+rng.IntN(3)) / 2
}

// pickPace decides how many requests members may send: the usual number, or in a quarter of the runs
// hardly more than renewals need, so that everything else waits in their queues.
func (w *world) pickPace(rng *rand.Rand) {
	tight := rng.IntN(4) == 0
	for _, h := range w.hosts {
		h.perSecond = member.WritesPerSecond
		if tight {
			h.perSecond = 1.3*float64(len(w.elections))/w.quickest(h.timing).RenewInterval.Seconds() + 0.5
		}
	}
}

// key is what the policy ranks the host's member by.
func (h *host) key() record.Key { return record.NewKey(h.revision, h.location) }

// preference says what each election prefers, by the election's name.
type preference struct {
	digest string
	of     map[string]record.Preferred
}

func (p *preference) Digest() string                       { return p.digest }
func (p *preference) For(election string) record.Preferred { return p.of[election] }

// see replaces what the host has seen of the preferences.
func (h *host) see(preferred []record.Preferred) {
	p := &preference{of: map[string]record.Preferred{}}
	for e, of := range preferred {
		p.of[h.w.elections[e]] = of
		p.digest += of.String() + " "
	}
	h.seen = p
}

// boot starts a process, if none runs.
func (h *host) boot() {
	if h.proc != nil || h.gone {
		return
	}
	if h.reboots {
		h.booted++
	}
	h.fromNowOn()
	h.proc = &proc{h: h}
	h.proc.bursts = newBursts(h.proc)
	h.see(h.w.unsynced)
	clear(h.terms)
	clear(h.ranges)
	h.proc.join()
	h.w.after(h.w.upTo(h.w.timing.RenewInterval/2), h.syncPreferences)
}

// syncPreferences has the host see what the sources say.
func (h *host) syncPreferences() {
	if h.proc == nil {
		return
	}
	h.see(h.w.preferred)
	if h.w.steering != nil {
		h.w.steering.show(h)
	}
	h.proc.inc.prefers()
}

// restartSoon boots another process after a while.
func (h *host) restartSoon() {
	h.w.after(h.w.between(100*time.Millisecond, h.w.timing.LeaseDuration), h.boot)
}

// proc is one process.
type proc struct {
	h      *host
	dead   bool
	paused bool
	// pausedAt is when it was last stopped, and resumedAt when it last continued. heldUpAt is when it last worked
	// on input that had waited for longer than a moment.
	pausedAt, resumedAt, heldUpAt int64
	inbox                         [origins][]func()
	inc                           *incarnation
	// left is what the last incarnation left to the next. between: the next incarnation has not begun.
	left    member.Heritage
	between bool
	// bursts is nil if the member is told one thing at a time.
	bursts *bursts
	// leaving: the process exits once its member has left.
	leaving bool
	// shownTerms are the terms that the process was shown, in the class PutBack.
	shownTerms map[shownTerm]bool
	// told are the sessions that the parent knows of. mourned: it has seen that all is dead.
	told    []announced
	mourned bool
}

// origin is the way by which input reaches a process, such as a stream or a timer. Input of one origin keeps
// its order.
type origin int

const (
	fromStream origin = iota
	fromReply
	fromQueue
	fromTimer
	fromWork
	origins
)

// deliver has the process do f now, or when its pause ends; never if it dies before.
func (p *proc) deliver(o origin, f func()) {
	switch {
	case p.dead:
	case p.paused:
		p.inbox[o] = append(p.inbox[o], f)
	default:
		f()
	}
}

// tell tells an incarnation something now, in a burst or after a pause; never if the incarnation has ended.
func (p *proc) tell(o origin, i *incarnation, in ...member.Input) {
	p.deliver(o, func() {
		switch {
		case p.inc != i:
		case p.bursts != nil:
			p.bursts.take(o, told{i, in})
		case i.stepping: // told when the step is done
			p.h.w.after(0, func() { p.tell(o, i, in...) })
		default:
			i.step(in...)
		}
	})
}

// runs says whether the process lives and is not stopped.
func (p *proc) runs() bool { return !p.dead && !p.paused }

// pause stops the process with SIGSTOP for a while.
func (p *proc) pause(d time.Duration) {
	w := p.h.w
	p.paused, p.pausedAt = true, w.now
	w.logf(p.h.name, "stopped for %v", d)
	w.words.troubled(p)
	w.after(d, p.resume)
}

// resume continues a stopped process with SIGCONT.
func (p *proc) resume() {
	if p.dead || !p.paused {
		return
	}
	p.paused, p.resumedAt = false, p.h.w.now
	p.h.w.logf(p.h.name, "continued")
	if p.bursts != nil {
		p.bursts.resumed(p.pausedAt)
	} else {
		p.read(p.h.w.rng)
	}
}

// read handles what arrived during a pause; chance decides which origin goes first.
func (p *proc) read(rng *rand.Rand) {
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
		o := waiting[rng.IntN(len(waiting))]
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
	for _, m := range p.inc.contests {
		if m != nil && m.work != nil {
			p.h.w.judge.bequeath(m.work)
			m.work.orphan()
		}
	}
	p.reap()
	p.mourn()
	p.h.w.words.troubled(p)
}
