package scenario

import (
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/session"
)

// incarnation drives one member as package election does: what comes in is taken in, and
// then all that is due is done.
type incarnation struct {
	p         *process
	identity  string
	born      record.Instant
	notBefore record.Instant
	dir       *session.Directory
	own       *session.Own
	stream    *stream
	contests  []*contest // by election; nil where it takes no part, or gave it up
	view      *machine.View
	viewStale bool
	// beat is the last one of our session that the stream has shown, and answered when the first
	// beat was sent that the store took, leaseDuration or more after that one; zero if it took none.
	beat     machine.BeatSeen
	answered record.Instant
	// sessionNext and the like are when each wants to be looked at again; zero for never.
	sessionNext, viewNext, sightNext record.Instant
	// leaving is why everything is being given up, and ending why that is to begin.
	leaving, ending machine.Reason
	disowned        []record.Disowned
	giveUpAt        record.Instant
	// alarmAt is when the alarm goes off; zero while it is off.
	alarmAt record.Instant
}

func (p *process) join() {
	s := p.w.s
	i := &incarnation{p: p, identity: record.NewIdentity(p.spec.Name, p.w.rng.Uint32()), born: p.now(), notBefore: p.notBefore}
	i.dir = session.NewDirectory(s.Group, s.Timing)
	i.own = session.NewOwn(session.Config{Group: s.Group, Host: p.spec.Name, Timing: s.Timing}, i.dir, i.member())
	i.view, _ = i.dir.View(i.born, i.identity)
	i.stream = &stream{i: i}
	p.inc = i
	for e := range s.Elections {
		if only := s.Elections[e].Only; only != "" && only != p.spec.Revision {
			i.contests = append(i.contests, nil)
			continue
		}
		c := newContest(i, e)
		i.contests = append(i.contests, c)
		c.handle(machine.PreferenceChanged{Preferred: p.preferred, Digest: p.preferred.Digest()})
		c.handle(machine.DirectoryChanged{View: i.view})
	}
	i.stream.list()
	i.attend()
}

// do has the incarnation take something in, if it is still there.
func (i *incarnation) do(f func()) {
	if i.p.inc != i {
		return
	}
	f()
	i.attend()
}

// member is what it publishes.
func (i *incarnation) member() record.Member {
	m := i.p.spec
	return record.Member{
		Identity: i.identity, Revision: m.Revision, Location: m.Location, Weight: m.Weight,
		Ready: i.leaving == "", Preference: i.p.preferred.Digest(), Config: "simulated",
		Setup: record.Setup{Protocol: record.Protocol}, Disowned: slices.Clone(i.disowned),
	}
}

func (i *incarnation) each(f func(*contest)) {
	for _, c := range i.contests {
		if c != nil {
			f(c)
		}
	}
}

func (i *incarnation) prefer(p record.Preferred) {
	i.each(func(c *contest) { c.handle(machine.PreferenceChanged{Preferred: p, Digest: p.Digest()}) })
}

// attend does all that is due now.
func (i *incarnation) attend() {
	now := i.p.now()
	i.each(func(c *contest) {
		if c.tickAt != 0 && c.tickAt <= now {
			c.tickAt = 0
			c.handle(machine.Tick{})
		}
	})
	if i.ending != "" {
		i.leave(i.ending)
	}
	i.own.Publish(i.member())
	i.settle(now)
	if i.leaving != "" && i.gaveUpAll() {
		i.own.Leave()
	}
	i.tendSession(now)
	i.tendSight(now)
	i.tendView(now)
	if i.leaving != "" && i.gaveUpAll() && i.own.Over() {
		i.p.rejoin()
		return
	}
	i.setAlarm()
}

// setAlarm has the incarnation attend when something is due next.
func (i *incarnation) setAlarm() {
	next := record.Instant(0)
	note := func(at record.Instant) {
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	i.each(func(c *contest) { note(c.tickAt) })
	note(i.sessionNext)
	note(i.viewNext)
	note(i.sightNext)
	if next == i.alarmAt {
		return
	}
	i.alarmAt = next
	if next != 0 {
		i.p.w.at(i.p.when(next), func() {
			if i.alarmAt == next {
				i.alarmAt = 0
				i.do(func() {})
			}
		})
	}
}

func (i *incarnation) gaveUpAll() bool {
	return !slices.ContainsFunc(i.contests, func(c *contest) bool { return c != nil })
}

// leave gives up everything; once that has settled the session ends.
func (i *incarnation) leave(why machine.Reason) {
	if i.leaving != "" {
		return
	}
	i.leaving = why
	i.p.w.note("%s gives everything up: %s", i.p.spec.Name, why)
	i.giveUpAt = i.p.now().Add(i.p.w.s.Timing.LeaseDuration)
	i.each(func(c *contest) { c.handle(machine.Resign{Reason: why}) })
}

// settle drops the elections that were given up and owe nothing any more.
func (i *incarnation) settle(now record.Instant) {
	if i.leaving == "" || i.gaveUpAll() {
		return
	}
	for e, c := range i.contests {
		if c != nil && c.state.Settled(c.cfg, now) {
			i.contests[e] = nil
		}
	}
	if i.gaveUpAll() {
		i.giveUpAt = max(i.giveUpAt, now.Add(i.p.w.s.Timing.RenewInterval))
	}
}

func (i *incarnation) tendSession(now record.Instant) {
	actions, next := i.own.Step(now)
	i.sessionNext = next
	provenAt := i.own.ProvenAt()
	i.each(func(c *contest) { c.cfg.ProvenAt = provenAt })
	for _, a := range actions {
		switch a := a.(type) {
		case session.Write:
			i.put(&request{name: a.Name, record: a.Record, replaces: a.If, counts: &i.p.w.count.Beats, done: func(q *request) { i.sessionWritten(a, q) }})
		case session.Read:
			i.get(a.Name, func(e lock.Entry, sent record.Instant) {
				i.viewStale = true
				if !i.dir.Read(i.p.now(), sent, e.Name, e.Record, e.Version) {
					panic("scenario: the store was never restored")
				}
				i.own.ReadDone(a.Name)
			}, func() { i.own.ReadFailed(i.p.now(), a.Name) })
		}
	}
	if _, lost := i.own.Lost(); lost {
		i.leave(machine.ReasonSession)
	}
	if i.leaving != "" && i.gaveUpAll() && !i.own.Over() {
		if now >= i.giveUpAt {
			i.own.Abandon()
		} else if i.sessionNext == 0 || i.giveUpAt < i.sessionNext {
			i.sessionNext = i.giveUpAt
		}
	}
}

func (i *incarnation) sessionWritten(a session.Write, q *request) {
	if q.outcome == machine.Committed {
		i.viewStale = true
		i.dir.Observe(i.p.now(), a.Name, q.entry.Record, q.entry.Version)
	}
	if a.Beat != 0 {
		if q.outcome == machine.Committed && i.answered == 0 && q.sent.Sub(i.beat.Sent) >= i.p.w.s.Timing.LeaseDuration {
			i.answered = q.sent
		}
		i.own.WriteDone(i.p.now(), a.Beat, q.outcome, q.entry.Version)
	}
}

// tendSight gives the incarnation up when it holds locks through a session whose beats it
// has not seen for too long.
func (i *incarnation) tendSight(now record.Instant) {
	i.sightNext = 0
	if i.leaving != "" || i.beat.Sent == 0 {
		return
	}
	lease := i.p.w.s.Timing.LeaseDuration
	at := i.beat.Sent.Add(2 * lease)
	if i.outlasting() {
		if i.answered == 0 {
			return // it may be the store that is away
		}
		at = max(at, i.answered.Add(lease))
	}
	if now < at {
		i.sightNext = at
		return
	}
	i.each(func(c *contest) {
		if l := &c.state.Lock; l.Owner == machine.Mine && l.Record.ThroughSession() {
			i.leave(machine.ReasonBlind)
		}
	})
}

// outlasting says whether a term is on that an outage does not end.
func (i *incarnation) outlasting() (lasts bool) {
	i.each(func(c *contest) {
		lasts = lasts || c.cfg.Outage.Mode == machine.OutageFailOpen && c.state.Role == machine.Leading
	})
	return lasts
}

// tendView tells every election when the living members, or what they publish, changed.
func (i *incarnation) tendView(now record.Instant) {
	if !i.viewStale && (i.viewNext == 0 || now < i.viewNext) {
		return
	}
	view, changes := i.dir.View(now, i.identity)
	i.viewStale, i.viewNext = false, changes
	if view == i.view {
		return
	}
	i.view = view
	i.each(func(c *contest) { c.handle(machine.DirectoryChanged{View: view}) })
}

// sawBeat takes in what the stream shows of a session. A beat of ours extends all that our
// session renews; who has no use for it now is told before its next event.
func (i *incarnation) sawBeat(e lock.Entry) {
	seen, ours := i.own.Seen(i.p.now(), e.Name, e.Record, e.Version)
	if !ours || seen.Sent <= i.beat.Sent {
		return
	}
	i.beat, i.answered = seen, 0
	i.each(func(c *contest) {
		if c.state.NeedsBeats() {
			c.handle(seen)
		}
	})
}
