package election

import (
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// contest is one incarnation's part in the contest for one lock. An election has one, or
// two while it migrates: the work of the outer one's terms is to let the inner one lead.
type contest struct {
	realm   *realm
	entrant *entrant
	lock    lockName
	// outer and inner are the other contest of a migration; nil without one.
	outer, inner *contest
	// innerBy is by when the inner contest's work must be dead once the outer one drains.
	innerBy record.Instant
	// waiting is for the new lock, in the contest for the old one.
	waiting waiting
	// notBefore is the earliest instant at which the incarnation takes anything, and heldOff
	// the one at which it takes this after an outage.
	notBefore, heldOff record.Instant
	state              machine.State
	work               *work
	// listed: a list that was asked for after began, when the incarnation began to take part, has
	// shown the lock. What was shown before is not taken in: it may be as old as can be.
	began  record.Instant
	listed bool
	// over: it was given up, and what still arrives for it changes nothing: the lock may be
	// that of a new contest by now.
	over bool
	// beatSent is when the last beat of our session went out that the machine was told of.
	beatSent record.Instant
	// before is how many terms earlier incarnations had.
	before  int
	notices notices
	// alarm is what may have to be logged, and takenOver from whom the lock was taken; nil for
	// none.
	alarm     *alarm
	takenOver *takeover
	// tickAt is when the machine wants a Tick; zero for never.
	tickAt record.Instant
	// wakeAt and slot belong to the heap of timers.
	wakeAt record.Instant
	slot   int
	// place belongs to contests.
	place int
}

func newContest(r *realm, e *entrant, lock lockName) *contest {
	return &contest{
		realm:     r,
		entrant:   e,
		lock:      lock,
		notBefore: r.notBefore,
		state:     initialState(r, lock),
		began:     r.cfg.Clock.Now(),
		before:    e.status.Cycle(),
		slot:      notQueued,
	}
}

// config is what the machine is told with each event. It is put together each time: kept, it
// would be half as much again as all else that an election costs.
func (c *contest) config() machine.Config {
	r, spec := c.realm, &c.entrant.spec
	own := &r.cfg.Member
	return machine.Config{
		Election: spec.Name, Group: r.cfg.Group,
		Member:      record.Member{Identity: r.identity, Revision: own.Revision, Location: own.Location, Weight: own.Weight, Standing: c.unready()},
		Timing:      spec.Timing,
		Others:      r.others,
		Policy:      spec.Policy,
		Bootstrap:   spec.Bootstrap,
		NotBefore:   max(c.notBefore, c.heldOff),
		HolderFirst: c.awaitsHolder(),
		ProvenAt:    r.provenAt,
		Foreign:     spec.Foreign,
		Range:       spec.Range,
		Outage:      spec.Outage,
		Outlasts:    r.outlasts(),
		Renewal:     spec.Renewal,
		Sight:       c.sight(),
		Newest:      c.newest(),
	}
}

// sight is how the lock is shown beside the sessions.
func (c *contest) sight() machine.Sight {
	if c.lock.store == c.realm.cfg.Locks {
		return machine.WithSessions
	}
	return machine.ApartFromSessions
}

// newest is a revision of the lock's own store: another one may count for itself. The lock that a
// migration goes to has none, for who knows the other lock alone is to go on from there: what both
// of them say is enough.
func (c *contest) newest() uint64 {
	if c.outer != nil {
		return 0
	}
	return c.realm.streamOf(c.lock.store).newest
}

// initialState begins with the beats that were used, and disowned, before.
func initialState(r *realm, lock lockName) machine.State {
	s := machine.Initial()
	s.Beat, s.Disowned = r.beats[lock], r.disowned[lock].Disowned
	return s
}

func (c *contest) name() string { return c.entrant.spec.Name }

func jitter() float64 { return rand.Float64() }

// handle lets the contest's machine take in an event and does what it asks for.
func (r *realm) handle(c *contest, event machine.Event) {
	if c.outer != nil && c.outer.mustStop(r.cfg.Clock.Now()) {
		r.handle(c.outer, machine.Tick{}) // before anything begins inside
	}
	var first [2]happening // most events are followed by none, and cost no allocation
	pending := first[:0]
	if _, is := event.(machine.BeatSeen); !is && c.beatSent < r.beat.Sent {
		pending = append(pending, happening{c, r.beat})
	}
	pending = append(pending, happening{c, event})
	for len(pending) > 0 {
		h := pending[0]
		if b, is := h.event.(machine.BeatSeen); is {
			h.contest.beatSent = b.Sent
		}
		next, actions := machine.Step(h.contest.config(), h.contest.state, r.cfg.Clock.Now(), h.event)
		pending = pending[1:]
		h.contest.state = next
		h.contest.settleRange(h.event)
		for _, a := range actions {
			pending = append(pending, r.perform(h.contest, a)...)
		}
		if outer := h.contest.outer; outer != nil {
			pending = append(pending, outer.followsInner(h)...)
		}
	}
	if c.inner != nil {
		c = c.inner
	}
	if c.outer != nil {
		r.tendMove(c.outer)
	}
	r.notice(c)
	r.tendOpen(c)
	if !c.state.Standing(r.cfg.Clock.Now()) {
		r.lowered[c] = true
	}
	if s := c.entrant.status; s.see(leaderOf(&c.state)) {
		s.publish(Transition{At: r.cfg.Clock.Wall(), Event: EventLeader, Role: c.state.Role, Token: s.Token(), Cycle: s.Cycle()})
	}
}

// happening is an event that one contest's machine is to take in.
type happening struct {
	contest *contest
	event   machine.Event
}

// perform does one action; it returns what follows from it at once, if anything.
func (r *realm) perform(c *contest, action machine.Action) []happening {
	switch a := action.(type) {
	case machine.Write:
		r.write(c, a)
	case machine.Read:
		r.read(c)
	case machine.Start:
		if c.inner != nil {
			return []happening{{c.inner, machine.Resumed{}}}
		}
		r.start(c, a)
	case machine.Extend:
		if c.inner != nil {
			c.inner.extend()
		} else {
			c.extend()
		}
	case machine.Stop:
		if c.inner != nil {
			return c.stopInner(a)
		}
		stop := Stop{Reason: string(a.Reason), By: a.By}
		if c.outer != nil {
			stop.By = min(stop.By, c.outer.stopBy(a.By))
		}
		s := c.entrant.status
		s.end(s.Token(), stop)
		if c.work == nil {
			return []happening{{c, machine.RunnersStopped{}}}
		}
		c.work.end(stop)
	case machine.WakeAt:
		c.tickAt = a.At
		r.rewake(c)
	case machine.EndSession:
		r.notBefore = max(r.notBefore, a.NotBefore)
		r.ending = a.Reason // leaving touches every contest, so it waits for attend
	case machine.Disown:
		r.disown(c.lock, a.Disowned)
	case machine.Report:
		r.report(c, a)
	default:
		panic(fmt.Sprintf("election %s: machine asked for %T", c.name(), action))
	}
	return nil
}

func (r *realm) write(c *contest, w machine.Write) {
	if (w.Purpose == machine.Take || w.Purpose == machine.Claim) && c.state.Lock.Owner != machine.Mine {
		c.takenOver = r.takeover(c)
	}
	var renewed time.Time
	if before := c.state.Lock.Record; before != nil && before.Holder == w.Record.Holder { // another holder shows by itself
		renewed = before.Renewed
	}
	if g := c.entrant.ranges; g != nil {
		g.stamp(&w, r.identity, r.cfg.Clock.Wall())
	}
	r.pool.enqueue(request{
		store: c.lock.store, name: c.lock.name, purpose: w.Purpose, write: &w.Record, replaces: w.If, renewed: renewed,
		passed: func() bool { return w.If.UID != "" && c.state.Lock.Version != w.If },
		done: func(ans answer) {
			r.post(func() {
				r.answerTo(c, ans, func() { r.written(c, w, ans) })
			})
		},
	})
}

func (r *realm) read(c *contest) {
	r.pool.enqueue(request{store: c.lock.store, name: c.lock.name, done: func(ans answer) {
		r.post(func() {
			r.answerTo(c, ans, func() { r.readBack(c, ans) })
		})
	}})
}

// answerTo tells a contest what its request was answered. One that was given up hears nothing
// of it.
func (r *realm) answerTo(c *contest, a answer, tell func()) {
	r.pool.finished(c.lock.store, a)
	if !c.over {
		tell()
	}
}

func (r *realm) written(c *contest, w machine.Write, a answer) {
	r.streamOf(c.lock.store).reaches(a.entry.Version.Revision)
	outcome := outcomeOf(a)
	if outcome == machine.Rejected {
		r.trouble.note("write", c.lock.name, nil) // another member was faster
	} else {
		r.trouble.note("write", c.lock.name, a.err)
	}
	r.handle(c, machine.WriteDone{
		Beat: w.Beat, Outcome: outcome, Record: a.entry.Record, Version: a.entry.Version,
		// The pool leaves the store alone for all elections, and finds out when it need not.
		Sent: a.sent, RetryAfter: min(a.retryAfter(), c.entrant.spec.Timing.RenewInterval), Jitter: jitter(),
	})
}

func (r *realm) readBack(c *contest, a answer) {
	r.trouble.note("read", c.lock.name, a.err)
	if a.err != nil {
		r.handle(c, machine.ReadFailed{})
		return
	}
	r.handle(c, machine.Observed{Source: machine.ReadBack, Record: a.entry.Record, Version: a.entry.Version, Sent: a.sent, Jitter: jitter()})
}

// start begins the work of a term.
func (r *realm) start(c *contest, a machine.Start) {
	s := c.entrant.status
	cycle := c.before + a.Cycle
	s.cycle.Store(int64(cycle))
	token, deadline := a.Token, a.Deadline
	if c.outer != nil {
		if c.outer.state.Role != machine.Leading {
			panic(fmt.Sprintf("election %s: a term begins while the lock that is migrated from is not held", c.name()))
		}
		token, deadline = max(token, c.outer.state.Term.Token), min(deadline, c.outer.state.Term.Deadline)
	}
	c.publishRange()
	s.begin(token, deadline)
	if c.entrant.runner == nil {
		return
	}
	term := Term{Election: c.name(), Identity: r.identity, Revision: r.cfg.Member.Revision, Token: token, Cycle: cycle, status: s}
	grace := c.entrant.spec.Timing.StopGrace
	c.work = begin(r.cfg.Clock, c.entrant.runner, term, deadline, grace, r.cfg.Abort, &r.helpers, func(err error) {
		r.post(func() { r.returned(c, token, err) })
	})
}

// returned takes in that a term's runner has returned.
func (r *realm) returned(c *contest, token record.Token, err error) {
	log := r.log.With(zap.String("election", c.name()), zap.Uint64("term", uint64(token)))
	if c.state.Role == machine.Leading && c.work.expired() {
		// Its guard stopped it while the driver was held up, and a renewal came in late: the
		// term is over all the same, and nothing failed. Whether another one may begin is as it
		// was: of a migration the outer contest says.
		r.handle(c, machine.WorkExpired{})
	}
	if c.state.Role == machine.Leading {
		// Nobody but itself told it to stop: the machine gives the term up, and its Stop finds
		// the work gone.
		log.Warn("runner returned during its term; the term is given up", zap.Error(err))
		c.work = nil
		r.handle(c, machine.RunnersFailed{})
		return
	}
	if err != nil {
		log.Warn("runner stopped with an error", zap.Error(err))
	}
	c.work = nil
	r.handle(c, machine.RunnersStopped{})
}

func (r *realm) report(c *contest, a machine.Report) {
	if a.Kind != machine.RoleChanged {
		r.raise(c, a)
		return
	}
	log := r.log.With(zap.String("election", c.name()), zap.Uint64("term", uint64(a.Token)))
	if c.inner != nil {
		log.Info("lock that is migrated from: "+a.Role.String(), zap.String("reason", string(a.Reason)))
		return
	}
	fields := []zap.Field{zap.String("reason", string(a.Reason))}
	if a.Role == machine.Leading {
		fields = append(fields, c.takenOver.fields(r.cfg.Clock.Now())...)
		c.takenOver = nil
	}
	log.Info(a.Role.String(), fields...)
	s := c.entrant.status
	s.see(leaderOf(&c.state))
	t := Transition{At: r.cfg.Clock.Wall(), Event: EventRole, Role: a.Role, Reason: a.Reason, Token: a.Token, Cycle: c.before + c.state.Cycle}
	s.publish(t)
	if a.Role == machine.Draining && !givenUp[a.Reason] {
		t.Event = EventLost
		s.publish(t)
	}
}

// leaderOf is who holds the lock, as the machine knows it.
func leaderOf(s *machine.State) Leader {
	rec := s.Lock.Record
	if rec == nil || rec.Holder == "" {
		return Leader{}
	}
	l := Leader{Identity: rec.Holder}
	if rec.Bound() {
		l.Revision, l.Location, l.Token = rec.Mark.Key.Revision(), rec.Mark.Key.Location(), rec.Token
	}
	return l
}
