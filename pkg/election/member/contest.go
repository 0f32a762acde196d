package member

import (
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// contest is one incarnation's part in the contest for one lock. An election has one, or
// two while it migrates: the work of the outer one's terms is to let the inner one lead.
type contest struct {
	m        *Member
	election *Election
	lock     lockName
	// stray: no election here has the lock, but this member holds it. It is being released.
	stray bool
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
	// listed: a list that was asked for after began, when the incarnation began to take part, has
	// shown the lock. What was shown before is not taken in: it may be as old as can be.
	began  record.Instant
	listed bool
	// over: it was given up, and what still arrives for it changes nothing: the lock may be
	// that of a new contest by now.
	over bool
	// beatSent is when the last beat of our session went out that the machine was told of.
	beatSent record.Instant
	// leader is the record from which the host was last told who leads, health what it was told of
	// the present term, token that of the last one, and working says that its work goes on.
	leader  *record.Record
	health  *Health
	token   record.Token
	working bool
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
	// sendings are the writes whose answers have not come.
	sendings []sending
	// place belongs to contests.
	place int
}

func newContest(m *Member, election *Election, lock lockName) *contest {
	return &contest{
		m:         m,
		election:  election,
		lock:      lock,
		notBefore: m.notBefore,
		state:     initialState(m, lock),
		began:     m.now,
		slot:      notQueued,
	}
}

// config is what the machine is told with each event. It is put together each time: kept, it
// would be half as much again as all else that an election costs.
func (c *contest) config() machine.Config {
	m, e := c.m, c.election
	own := &m.cfg
	return machine.Config{
		Election: e.Name, Group: m.cfg.Group,
		Member:      record.Member{Identity: m.identity, Revision: own.Revision, Location: own.Location, Weight: own.Weight, Standing: c.unready()},
		Timing:      e.Timing,
		Others:      m.others,
		Policy:      e.Policy,
		Bootstrap:   e.Bootstrap,
		NotBefore:   max(c.notBefore, c.heldOff),
		HolderFirst: c.awaitsHolder(),
		ProvenAt:    m.provenAt,
		Foreign:     e.Foreign,
		Range:       e.Range,
		Outage:      e.Outage,
		Outlasts:    m.outlasts(),
		Renewal:     e.Renewal,
		Sight:       c.sight(),
		Newest:      c.newest(),
	}
}

// sight is how the lock is shown beside the sessions.
func (c *contest) sight() machine.Sight {
	if c.lock.store == Own {
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
	return c.m.streamOf(c.lock.store).newest
}

// initialState begins with the beats that were used, and disowned, before.
func initialState(m *Member, lock lockName) machine.State {
	s := machine.Initial()
	s.Beat, s.Disowned = m.gone[lock].beat, m.disowned[lock].Disowned
	return s
}

func (c *contest) name() string { return c.election.Name }

// each calls f for the election's contests, the outer one first.
func (c *contest) each(f func(*contest)) {
	for _, one := range []*contest{c.outer, c} {
		if one != nil && !one.over { // of a migration that is removed one may be over before the other
			f(one)
		}
	}
}

func (c *contest) holdsThroughSession() bool {
	l := &c.state.Lock
	return l.Owner == machine.Mine && l.Record.ThroughSession()
}

// handle lets the contest's machine take in an event and does what it asks for.
func (m *Member) handle(c *contest, event machine.Event) {
	if c.outer != nil && c.outer.mustStop() {
		m.handle(c.outer, machine.Tick{}) // before anything begins inside
	}
	var first [2]happening // most events are followed by none, and cost no allocation
	pending := first[:0]
	if _, is := event.(machine.BeatSeen); !is && c.beatSent < m.beat.Sent {
		pending = append(pending, happening{c, m.beat})
	}
	pending = append(pending, happening{c, event})
	for len(pending) > 0 {
		h := pending[0]
		if b, is := h.event.(machine.BeatSeen); is {
			h.contest.beatSent = b.Sent
		}
		next, actions := machine.Step(h.contest.config(), h.contest.state, m.now, h.event)
		pending = pending[1:]
		h.contest.state = next
		h.contest.settleRange(h.event)
		for _, a := range actions {
			pending = append(pending, m.perform(h.contest, a)...)
		}
		if outer := h.contest.outer; outer != nil {
			pending = append(pending, outer.followsInner(h)...)
		}
	}
	if c.inner != nil {
		c = c.inner
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

// happening is an event that one contest's machine is to take in.
type happening struct {
	contest *contest
	event   machine.Event
}

// perform does one action; it returns what follows from it at once, if anything.
func (m *Member) perform(c *contest, action machine.Action) []happening {
	switch a := action.(type) {
	case machine.Write:
		m.write(c, a)
	case machine.Read:
		m.read(c)
	case machine.Start:
		if c.inner != nil {
			return []happening{{c.inner, machine.Resumed{}}}
		}
		m.start(c, a)
	case machine.Extend:
		switch {
		case c.inner != nil:
			m.extend(c.inner)
		case c.outer != nil:
			m.extend(c)
		default: // what follows may be its Stop, which goes by that deadline
			m.out.add(Extend{c.election.ID, a.Deadline})
		}
	case machine.Stop:
		if c.inner != nil {
			return c.stopInner(a)
		}
		stop := Stop{ID: c.election.ID, Reason: a.Reason, By: a.By}
		if c.outer != nil {
			stop.By = min(stop.By, c.outer.stopBy(a.By))
		}
		m.out.add(stop)
		if !c.working {
			return []happening{{c, machine.RunnersStopped{}}}
		}
	case machine.WakeAt:
		c.tickAt = a.At
		m.rewake(c)
	case machine.EndSession:
		m.notBefore = max(m.notBefore, a.NotBefore)
		m.ending = a.Reason // leaving touches every contest, so it waits for attend
	case machine.Disown:
		m.disown(c.lock, a.Disowned)
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
	if before := c.state.Lock.Record; before != nil && before.Holder == w.Record.Holder { // another holder shows by itself
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
	if outcome == machine.Rejected {
		m.trouble.note("write", c.lock.name, nil) // another member was faster
	} else {
		m.trouble.note("write", c.lock.name, a.err)
	}
	m.handle(c, machine.WriteDone{
		Beat: w.Beat, Outcome: outcome, Record: a.entry.Record, Version: a.entry.Version,
		// The queue leaves the store alone for all elections, and finds out when it need not.
		Sent: a.sent, RetryAfter: min(a.retryAfter(), c.election.Timing.RenewInterval), Jitter: m.jitter(),
	})
}

func (m *Member) readBack(c *contest, a answer) {
	m.trouble.note("read", c.lock.name, a.err)
	if a.err != nil {
		m.handle(c, machine.ReadFailed{})
		return
	}
	m.handle(c, machine.Observed{Source: machine.ReadBack, Record: a.entry.Record, Version: a.entry.Version, Sent: a.sent, Altered: m.altered(c, a.entry.Record), Jitter: m.jitter()})
}

// start begins the work of a term.
func (m *Member) start(c *contest, a machine.Start) {
	token, deadline := a.Token, a.Deadline
	if c.outer != nil {
		if c.outer.state.Role != machine.Leading {
			panic(fmt.Sprintf("election %s: a term begins while the lock that is migrated from is not held", c.name()))
		}
		token, deadline = max(token, c.outer.state.Term.Token), min(deadline, c.outer.state.Term.Deadline)
	}
	m.publishRange(c)
	c.token, c.working = token, c.election.Works
	m.out.add(Start{ID: c.election.ID, Token: token, Cycle: c.election.Before + a.Cycle, Deadline: deadline})
}

// returned takes in that a term's runner has returned.
func (m *Member) returned(in Returned) {
	c := m.contests.of[in.ID]
	if c == nil || !c.working || c.token != in.Token {
		return
	}
	log := m.log.With(zap.String("election", c.name()), zap.Uint64("term", uint64(in.Token)))
	if c.state.Role == machine.Leading && in.Expired {
		// Its guard stopped it while the host was held up, and a renewal came in late: the
		// term is over all the same, and nothing failed. Whether another one may begin is as it
		// was: of a migration the outer contest says.
		m.handle(c, machine.WorkExpired{})
	}
	c.working = false
	if c.state.Role == machine.Leading {
		// Nobody but itself told it to stop: the machine gives the term up, and its Stop finds
		// the work gone.
		log.Warn("runner returned during its term; the term is given up", zap.Error(in.Err))
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
	log := m.log.With(zap.String("election", c.name()), zap.Uint64("term", uint64(a.Token)))
	if c.inner != nil {
		log.Info("lock that is migrated from: "+a.Role.String(), zap.String("reason", string(a.Reason)))
		return
	}
	fields := []zap.Field{zap.String("reason", string(a.Reason))}
	if a.Role == machine.Leading {
		fields = append(fields, c.takenOver.fields(m.now)...)
		c.takenOver = nil
	}
	log.Info(a.Role.String(), fields...)
	c.leader = c.state.Lock.Record
	m.out.add(Changed{
		ID: c.election.ID, Role: a.Role, Reason: a.Reason, Token: a.Token, Cycle: c.election.Before + c.state.Cycle,
		Leader: leaderOf(&c.state), Lost: a.Role == machine.Draining && !givenUp[a.Reason],
	})
}
