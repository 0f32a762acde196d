package sim

import (
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/session"
)

// join begins a new incarnation.
func (p *proc) join(notBefore record.Instant) {
	h := p.h
	w := h.w
	i := &incarnation{p: p, identity: record.NewIdentity(h.name, uint32(w.rng.Uint64())), notBefore: notBefore} // #nosec G115 -- any 32 of its bits will do
	i.dir = session.NewDirectory(group, h.timing)
	i.own = session.NewOwn(session.Config{Group: group, Host: h.name, Timing: h.timing}, i.dir, i.member())
	i.view, _ = i.dir.View(i.now(), i.identity)
	i.stream = newStream(i)
	i.stream.heardAt = i.now()
	i.viewAt.do, i.stepAt.do, i.publishAt.do, i.sightAt.do = i.directoryChanged, i.stepSession, i.publish, i.blind
	i.beats, i.disowned = map[int]uint64{}, map[int]record.Disowned{}
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
	if p.bursts != nil {
		p.bursts.ring() // what is due at first
	}
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
	// beat is the last one of its session that the stream has shown.
	beat machine.BeatSeen
	// beats are the numbers of the last writes to the locks of elections that were given up.
	beats map[int]uint64
	// disowned is what it disowned of each lock, for good: it lists that for ever.
	disowned map[int]record.Disowned

	// ending: everything is given up, for the reason given; rejoinAt is the NotBefore of
	// the next incarnation.
	ending   machine.Reason
	rejoinAt record.Instant
	// left is when the session was told to end.
	left record.Instant

	// Of a driver that takes in bursts: untrusted is why a machine wants everything given up,
	// giveUpAt until when the session's end is tried, viewStale that the directory was shown
	// something that the machines were not told of, listView what is told beside each lock
	// of a list.
	untrusted machine.Reason
	giveUpAt  record.Instant
	provenAt  record.Instant // of the session, when it stepped last
	viewStale bool
	listView  *machine.View

	viewAt, stepAt, publishAt, sightAt, streamAt, unreadyAt alarm
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
		switch {
		case i.p.bursts != nil:
			if i.p.inc == i && a.at == when && !i.p.dead {
				i.p.bursts.ring()
			}
		case i.p.handles():
			i.ring(a, when)
		default:
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
		Ready: h.ready && !i.goes(), Preference: h.digest, Config: h.config,
		Setup: record.Setup{Protocol: record.Protocol},
	}
	for e := range i.machines {
		if d, found := i.disowned[e]; found {
			m.Disowned = append(m.Disowned, d)
		}
	}
	now := i.now()
	for _, part := range i.machines {
		if part != nil && !part.state.Standing(now) {
			m.Standing = append(m.Standing, part.name)
		}
	}
	return m
}

// goes says whether it is leaving, and lets the others know.
func (i *incarnation) goes() bool {
	return i.p.bursts != nil && i.ending != "" && i.unreadyAt.at == 0
}

func (i *incarnation) publish() {
	if i.p.bursts != nil {
		return // attend does
	}
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
	if i.p.bursts != nil {
		i.viewStale = true
		return
	}
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

// stepSession lets the session do what is due, unless attend does.
func (i *incarnation) stepSession() {
	if i.p.bursts == nil {
		i.tendSession()
	}
}

// proven is when the others will trust this member again, as far as the machines know.
func (i *incarnation) proven() record.Instant {
	if i.p.bursts != nil {
		return i.provenAt
	}
	return i.own.ProvenAt()
}

func (i *incarnation) tendSession() {
	w := i.p.h.w
	actions, next := i.own.Step(i.now())
	i.provenAt = i.own.ProvenAt()
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
				i.own.ReadDone(a.Name)
				i.directoryChanged()
			}, func() {
				i.own.ReadFailed(i.now(), a.Name)
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
	if i.p.bursts != nil {
		i.resign(why)
		return
	}
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
	i.over()
}

// over: nothing is owed any more.
func (i *incarnation) over() {
	w := i.p.h.w
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
