package election

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// host runs one incarnation: it tells the member what happens, and does what the member asks for. It
// decides nothing. The goroutine of run owns its fields; the others post to the inbox.
type host struct {
	m      *Manager
	cfg    *Config
	member *member.Member
	// identity is the incarnation's.
	identity string

	ctx    context.Context // of all requests and watches; outlives the caller's
	cancel context.CancelFunc
	inbox  chan member.Input
	// helpers joins the goroutines of requests, watches and runners.
	helpers sync.WaitGroup
	// watches are the watches that are not over.
	watches map[uint64]watching
	// own are the watches that show the sessions.
	own      map[uint64]bool
	entrants map[member.ID]*entrant
	works    map[member.ID]*work
	// starting starts the work of a term that has just begun; nil for none.
	starting func()
	// reach is the deadline of the terms that our session keeps alive; nil before its first beat.
	reach *reach
	// unready are the elections whose runners the member believes not to be ready.
	unready map[member.ID]error
	// stopping are the works that were told to stop, and when; nil for none.
	stopping map[member.ID]record.Instant
	// expected is the session that the parent was told of last.
	expecting sync.Mutex
	expected  string
}

// newHost makes the host of a new incarnation, which inherits what an earlier one left.
func newHost(m *Manager, left member.Heritage) *host {
	cfg := &m.cfg
	identity, chance := newIdentity(cfg.Host), random(16)
	m.pulse.join(identity)
	return &host{
		m: m, cfg: cfg, identity: identity,
		member: member.New(member.Config{
			Group: cfg.Group, Host: cfg.Host, Identity: identity,
			Revision: cfg.Member.Revision, Location: cfg.Member.Location, Weight: cfg.Member.Weight,
			Version: cfg.Version, Timing: cfg.Timing, WritesPerSecond: cfg.WritesPerSecond,
			Chance:   mathrand.NewPCG(binary.BigEndian.Uint64(chance), binary.BigEndian.Uint64(chance[8:])),
			Heritage: left, Proofs: cfg.proofs(), Container: cfg.Container,
		}),
		inbox:   make(chan member.Input, 256),
		watches: map[uint64]watching{}, own: map[uint64]bool{},
		entrants: map[member.ID]*entrant{},
		works:    map[member.ID]*work{},
		unready:  map[member.ID]error{},
	}
}

// run drives the member until ctx or the session ends. again says that the member must come back as a new
// incarnation.
func (h *host) run(ctx context.Context, source *latest[Preference]) (again bool, err error) {
	h.ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer h.drain()
	alarm, err := clock.NewAlarm(h.cfg.Clock)
	if err != nil {
		return false, fmt.Errorf("election manager: %w", err)
	}
	defer alarm.Stop()
	done := ctx.Done()
	preference, changed := source.get()
	lags, lagging := h.m.lags.get()
	in := h.news([]member.Input{member.Prefer{Preference: preference}, member.Lags{Why: lags}}, h.m.all())
	readiness, rest := h.m.readiness, clock.NewTimer(readinessEvery)
	defer rest.Stop()
	pulse := &h.m.pulse
	pulse.preferred.Store(synced(preference))
	h.m.tally.prefers(preference)
	for {
		now := h.cfg.Clock.Now()
		pulse.turn(now)
		h.count(in, now)
		h.forgetWatches(in)
		for _, effect := range h.member.Step(now, h.cfg.Clock.Wall(), in...) {
			h.perform(effect)
		}
		h.launch()
		if h.member.Over() {
			break // drain is a part of this turn
		}
		next := h.member.Wake()
		if next != 0 {
			alarm.Set(next)
		}
		pulse.givenUp.Store(string(h.member.Leaving()))
		pulse.rest(next)
		clear(in)
		in = in[:0]
		for idle := true; idle; {
			idle = false
			select {
			case one := <-h.inbox:
				in = h.gather(append(in, one))
			case <-alarm.C():
			case <-changed:
				preference, changed = source.get()
				pulse.preferred.Store(synced(preference))
				h.m.tally.prefers(preference)
				in = append(in, member.Prefer{Preference: preference})
			case <-lagging:
				lags, lagging = h.m.lags.get()
				in = append(in, member.Lags{Why: lags})
			case <-h.m.changed:
				in = h.news(in, h.m.unread())
			case <-readiness:
				in = h.readiness(in)
				readiness = nil
				rest.Reset(readinessEvery)
			case <-rest.C:
				readiness, idle = h.m.readiness, true
			case <-done:
				done = nil
				in = append(in, member.Leave{})
			}
		}
	}
	h.followsAll()
	h.ended()
	again, err = h.member.Again()
	if err != nil {
		err = fmt.Errorf("election manager: %w", err)
	}
	return again && ctx.Err() == nil, err
}

// readinessEvery bounds how often the member learns which runners became ready, or unready. Each time it writes its
// session, and all members look at all elections, of which many may be asked one after the other.
const readinessEvery = 250 * time.Millisecond

// synced says whether the source of the preferred revision has answered.
func synced(p Preference) bool { return p.For("").State != record.PreferredNotSynced }

// gather empties the inbox, so that a burst costs one step.
func (h *host) gather(in []member.Input) []member.Input {
	for range cap(h.inbox) {
		select {
		case one := <-h.inbox:
			in = append(in, one)
		default:
			return in
		}
	}
	return in
}

// drain ends all helpers, waits for them, and discards what they still post.
func (h *host) drain() {
	h.cancel()
	gone := make(chan struct{})
	go func() { // joined by the receive from gone below
		h.helpers.Wait()
		close(gone)
	}()
	for {
		select {
		case <-h.inbox:
		case <-gone:
			return
		}
	}
}

// post queues an input for the member's next step.
func (h *host) post(in member.Input) { h.inbox <- in }

// news appends an input for the elections that were added, and one for each that was removed.
func (h *host) news(in []member.Input, changed []news) []member.Input {
	var added []*member.Election
	var removed []member.Input
	for _, n := range changed {
		e := n.entrant
		known := h.entrants[e.id] != nil
		switch {
		case n.removal != nil && known:
			removed = append(removed, member.Removed{ID: e.id, Why: n.removal.why})
		case n.removal != nil:
			h.m.forget(e)
		case !known:
			h.entrants[e.id] = e
			added = append(added, h.election(e))
		}
	}
	if len(added) > 0 {
		in = append(in, member.Elections{Added: added})
	}
	return append(in, removed...)
}

// election makes, from an entrant (an election that we take part in), what the member must know of it.
func (h *host) election(e *entrant) *member.Election {
	s := &e.spec
	problem := e.status.Unready()
	election := &member.Election{
		ID: e.id, Name: s.Name, Lock: s.Lock, Locks: h.store(s.Locks), Settings: s.Settings,
		Works: e.runner != nil, Unready: problem != nil, Before: int32(e.status.Cycle()), Ranges: e.ranges, // #nosec G115 -- a count of terms
	}
	if from := s.MigrateFrom; from != nil {
		election.MigrateFrom = &member.LockRef{Lock: from.Lock, Locks: h.store(from.Locks)}
	}
	if election.Unready {
		h.unready[e.id], election.Lacks = problem, problem.Error()
	}
	return election
}

// readiness appends an input for each runner that became ready or unready, or that lacks something else now.
func (h *host) readiness(in []member.Input) []member.Input {
	for id, e := range h.entrants {
		problem := e.status.Unready()
		if told, is := h.unready[id]; is == (problem != nil) && text(problem) == text(told) {
			continue
		}
		if delete(h.unready, id); problem != nil {
			h.unready[id] = problem
		}
		in = append(in, member.Ready{ID: id, Ready: problem == nil, Lacks: text(problem)})
	}
	return in
}

// perform does what the member asks for. Work starts once the status says that this member leads: whoever asks in its
// first moment reads that.
func (h *host) perform(effect member.Effect) {
	switch do := effect.(type) {
	case member.Log:
		h.cfg.Log.Log(do.Level, do.Message, do.Fields...)
	case member.Changed:
		h.changed(do)
		h.launch()
	default:
		h.launch()
		h.act(effect)
	}
}

// launch starts the work of the term that has just begun.
func (h *host) launch() {
	if start := h.starting; start != nil {
		h.starting = nil
		start()
	}
}

// act carries out an effect that neither logs nor tells of a role.
func (h *host) act(effect member.Effect) {
	switch do := effect.(type) {
	case member.Send:
		store := h.m.stores[do.Store.ID]
		h.helpers.Go(func() { h.post(h.send(store, do)) })
	case member.Watch:
		h.watch(do)
	case member.EndWatch:
		if w, on := h.watches[do.Watch]; on {
			w.end()
		}
	case member.Relist:
		h.relist(do)
	case member.Forgotten:
		e := h.entrants[do.ID]
		delete(h.entrants, do.ID)
		delete(h.works, do.ID)
		delete(h.stopping, do.ID)
		delete(h.unready, do.ID)
		h.m.forget(e)
	default:
		h.publish(effect)
	}
}

// publish carries out an effect on one election's work or status.
func (h *host) publish(effect member.Effect) {
	switch do := effect.(type) {
	case member.Start:
		h.start(do)
	case member.Extend:
		if e := h.entrants[do.ID]; e != nil {
			h.extend(e, do)
		}
	case member.Beat:
		h.m.pulse.beat.Store(int64(do.Sent))
		h.m.tally.beats.note(h.cfg.Clock.Now().Sub(do.Sent))
		if h.reach == nil || h.reach.since != do.Since {
			h.reach = newReach(h.cfg.Clock, do)
		} else {
			h.reach.extend(do)
		}
	case member.Stop:
		stop := Stop{Reason: string(do.Reason), By: do.By, kept: givesUp[do.Reason]}
		if w := h.works[do.ID]; w != nil {
			h.stops(do.ID, w)
			w.end(w.inFull(stop))
		}
		if e := h.entrants[do.ID]; e != nil {
			h.endIdle(e, stop) // if there is no work; otherwise w.end has done it
		}
	case member.Leads:
		if e := h.entrants[do.ID]; e != nil && e.status.see(Leader(do.Leader)) {
			s := e.status
			s.publish(Transition{At: h.cfg.Clock.Wall(), Event: EventLeader, Role: do.Role, Token: s.Token(), Cycle: s.Cycle()})
		}
	case member.Renewals:
		if e := h.entrants[do.ID]; e != nil {
			e.status.health.Store(do.Health)
		}
	case member.Noticed:
		if e := h.entrants[do.ID]; e != nil {
			s := e.status
			s.publish(Transition{At: h.cfg.Clock.Wall(), Event: eventOf(do.Notice), Role: do.Role, Token: s.Token(), Cycle: s.Cycle()})
		}
	case member.Within:
		if e := h.entrants[do.ID]; e != nil {
			e.status.rng.Store(do.Range)
		}
	default:
		panic(fmt.Sprintf("election manager: member asked for %T", effect))
	}
}

// endIdle ends a term in which no runner works, so that no guard watches the callbacks of OnEnd. They run on this goroutine, which
// must not be held up: if they block for longer than the grace, the process ends.
func (h *host) endIdle(e *entrant, stop Stop) {
	over := e.status.over(e.status.Token(), stop)
	if !over.awaited() {
		return
	}
	grace, aborts := e.spec.Timing.StopGrace, aborter{h.cfg.Abort, h.cfg.Log}
	late := clock.AfterFunc(grace, func() {
		err := fmt.Errorf("election %s: a callback of OnEnd has not returned after %v (%s)", e.spec.Name, grace, stop.Reason)
		aborts.say(h.cfg.Clock, "aborting: a callback holds this member up", err).await(h.cfg.Clock, overLog)
		aborts.abort(err)
	})
	defer late.Stop()
	over.tell()
}

// changed publishes the member's role in one election.
func (h *host) changed(do member.Changed) {
	e := h.entrants[do.ID]
	if e == nil {
		return
	}
	t := Transition{At: h.cfg.Clock.Wall(), Event: EventRole, Role: do.Role, Reason: do.Reason, Token: do.Token, Cycle: do.Cycle}
	if do.Role == Leading {
		t.Leaderless, _ = h.m.tally.led(e.status, h.identity, h.cfg.Clock.Now())
	}
	e.status.see(Leader(do.Leader))
	e.status.become(do.Role, do.Reason)
	e.status.publish(t)
	if do.Lost {
		t.Event = EventLost
		e.status.publish(t)
	}
}

// followsAll publishes that this member, which has left, follows in each election. The member itself does not say so if it
// held many locks: it then ends its session instead of releasing each lock.
func (h *host) followsAll() {
	for id, e := range h.entrants {
		if role, _, _ := e.status.Role(); role != Following {
			leader := e.status.Leader()
			if leader.Identity == h.identity {
				leader = Leader{}
			}
			h.changed(member.Changed{ID: id, Role: Following, Reason: machine.ReasonNotHeld, Token: e.status.Token(), Cycle: e.status.Cycle(), Leader: member.Leader(leader)})
		}
	}
}

// start begins a term. If there is work, launch starts it.
func (h *host) start(do member.Start) {
	e := h.entrants[do.ID]
	e.status.cycle.Store(int64(do.Cycle))
	e.status.begin(do.Token, do.Deadline)
	delete(h.stopping, do.ID)
	if e.runner == nil {
		return
	}
	term := Term{Election: e.spec.Name, Identity: h.identity, Revision: h.cfg.Member.Revision, Token: do.Token, Cycle: do.Cycle, status: e.status}
	h.starting = func() {
		term.lockToken = e.status.Leader().Token
		h.works[do.ID] = begin(h.ctx, h.cfg.Clock, e.runner, term, do.Deadline, e.spec.Timing.StopGrace, aborter{h.cfg.Abort, h.cfg.Log}, &h.helpers, func(err error, expired bool) {
			h.post(member.Returned{ID: do.ID, Token: do.Token, Err: err, Expired: expired})
		})
		e.work.Store(h.works[do.ID])
	}
}

// extend lets a term go on, by a deadline of its own or by the beats of our session.
func (h *host) extend(e *entrant, do member.Extend) {
	if do.Health != nil {
		e.status.health.Store(do.Health)
	}
	w := h.works[do.ID]
	if do.Beats == 0 {
		e.status.extend(do.Deadline)
		if w != nil {
			w.extend(do.Deadline)
		}
		return
	}
	if h.reach == nil || h.reach.since != do.Beats {
		panic(fmt.Sprintf("election %s: its term is extended by a run of beats that the host does not know", e.spec.Name))
	}
	e.status.goBy(h.reach, e.spec.Timing.Jeopardy())
	if w != nil {
		w.goBy(h.reach)
	}
}

// newIdentity returns an identity that was never used before.
func newIdentity(host string) string {
	return record.NewIdentity(host, binary.BigEndian.Uint32(random(4)))
}

func random(n int) []byte {
	bytes := make([]byte, n)
	_, _ = rand.Read(bytes) // it never fails
	return bytes
}
