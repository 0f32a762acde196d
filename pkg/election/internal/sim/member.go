package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// incarnation hosts one member of production: an identity and all that is bound to it.
type incarnation struct {
	p        *proc
	identity string
	member   *member.Member
	// stream is the watch of the sessions' store; streams are all watches, by the IDs of their stores.
	stream   *stream
	streams  [2]*stream
	contests []*contest // by election; nil if it takes no part
	// alarm is when the member wants to be stepped; zero for never.
	alarm record.Instant
	// requests are the requests under way.
	requests map[uint64]*request
	pace     pace // of its steps
	// stepping: the effects of a step are being performed. several: that step told it more than one thing.
	stepping, several bool
	// knew is what the member knew of the others before that step. What is due in a step is done last, so the
	// contests may be told of an event before a session lapses.
	knew *machine.View
	// seen is the preference that the member was last told.
	seen *preference
	// shownSessions are the holders of the sessions that the member was shown, in the class PutBack.
	shownSessions map[string]bool
	// timing is that of the member's session. storedBeats are the highest beats that its stored writes had, by lock.
	timing      record.Timing
	storedBeats map[string]uint64
}

// shown records that the member saw a session.
func (i *incarnation) shown(r *record.Record) {
	if r == nil || i.p.h.w.options.Class != PutBack {
		return
	}
	if i.shownSessions == nil {
		i.shownSessions = map[string]bool{}
	}
	i.shownSessions[r.Holder] = true
}

// join begins a new incarnation.
func (p *proc) join() {
	h := p.h
	w := h.w
	i := &incarnation{
		p: p, identity: record.NewIdentity(h.name, uint32(w.rng.Uint64())), // #nosec G115 -- any 32 of its bits will do
		contests: make([]*contest, len(w.elections)), requests: map[uint64]*request{},
		timing: h.timing, storedBeats: map[string]uint64{},
	}
	i.member = member.New(member.Config{
		Group: group, Host: h.name, Identity: i.identity, Revision: h.revision, Location: h.location, Weight: 100,
		Timing: h.timing, WritesPerSecond: h.perSecond, Chance: rand.NewPCG(w.rng.Uint64(), w.rng.Uint64()), Heritage: p.left, Proofs: h.proofs(),
		Container: record.Container{NodeUID: h.name, BootID: h.boots()},
	})
	i.stream = newStream(i, member.Watch{})
	i.streams[0] = i.stream
	p.inc = i
	w.judge.joined(i)
	w.logf(h.name, "joins as %s", i.identity)
	in := []member.Input{member.Prefer{Preference: h.seen}}
	var elections []*member.Election
	for e, yes := range h.takesPart {
		if yes {
			elections = append(elections, i.newContest(e).spec())
		}
	}
	i.step(append(in, member.Elections{Added: elections})...)
}

func (i *incarnation) now() record.Instant { return i.p.h.clock.local(i.p.h.w.now) }

// step tells the member what happened, and performs its effects.
func (i *incarnation) step(in ...member.Input) {
	w := i.p.h.w
	if w.violation != "" || i.p.inc != i || i.p.dead || i.p.between {
		return
	}
	i.stepping, i.several, i.knew = true, len(in) > 1, i.member.View()
	defer func() { i.stepping = false }()
	for _, one := range in {
		i.taken(one)
	}
	effects := i.member.Step(i.now(), w.wall().Add(i.p.h.wallOffset), in...)
	i.noteKnown(in)
	for _, m := range i.contests {
		if m != nil {
			w.judge.knows(m)
		}
	}
	for _, effect := range effects {
		i.perform(effect)
	}
	for _, m := range i.contests {
		if m != nil {
			w.judge.stepped(m)
			m.lacks = false
		}
	}
	if i.member.Over() {
		i.over()
		return
	}
	i.setAlarm()
}

// taken is called for each input just before the member takes it in.
func (i *incarnation) taken(in member.Input) {
	w := i.p.h.w
	if w.tracing() {
		w.traceInput(i, in)
	}
	switch in := in.(type) {
	case member.Prefer:
		i.seen = in.Preference.(*preference)
	case member.Shown:
		if s := i.streamOf(in.Watch); s != nil {
			s.taken(in.Event)
		}
	case member.Answered:
		switch q := i.requests[in.Request]; {
		case q == nil || q.m == nil:
		case q.record == nil:
			q.m.shown(in.Entry)
		case lock.OutcomeOf(in.Err) != lock.Unknown && !errors.Is(in.Err, lock.ErrThrottled):
			q.m.askedAt, q.m.saidNo = 0, in.Err != nil
		}
	case member.Returned:
		for _, m := range i.contests {
			if m != nil && m.id == in.ID && m.work != nil && m.work.token == in.Token {
				m.work.answered = true
			}
		}
	}
}

// setAlarm schedules the step that the member wants next; it replaces the former alarm.
func (i *incarnation) setAlarm() {
	when := i.member.Wake()
	if when == i.alarm {
		return
	}
	i.alarm = when
	if when == 0 {
		return
	}
	i.p.h.w.at(i.p.h.clock.when(when), func() {
		if i.p.inc != i || i.alarm != when {
			return
		}
		i.alarm = 0
		if i.p.bursts != nil {
			i.p.bursts.ring()
			return
		}
		i.p.deliver(fromTimer, func() {
			if i.p.inc == i {
				i.p.h.w.judge.ticked(i)
				i.step()
			}
		})
	})
}

func (i *incarnation) perform(effect member.Effect) {
	w := i.p.h.w
	if w.tracing() {
		w.traceEffect(i, effect)
	}
	switch do := effect.(type) {
	case member.Send:
		i.send(do)
	case member.Watch:
		s := newStream(i, do)
		i.streams[do.Store.ID] = s
		i.stream = i.streams[0]
		s.anew()
	case member.EndWatch:
		i.streamOf(do.Watch).end()
	case member.Relist:
		if s := i.streamOf(do.Watch); do.Names != nil {
			s.try(do.Trial)
		} else {
			s.relist()
		}
	case member.Start:
		if m := i.contestOf(do.ID); m != nil {
			i.p.h.terms[m.election] = do.Cycle
			m.start(do)
		}
	case member.Extend:
		m := i.contestOf(do.ID)
		w.judge.extended(m, do.Deadline)
		m.work.extend(do.Deadline)
		m.work.beats = do.Beats
	case member.Beat:
		for _, m := range i.contests {
			if m != nil && m.work != nil && !m.work.asked && m.work.beats == do.Since {
				w.judge.extended(m, do.Deadline)
				m.work.extend(do.Deadline)
			}
		}
	case member.Stop:
		if m := i.contestOf(do.ID); m != nil {
			w.judge.stopped(m, do)
			m.work.stop(do)
		}
	case member.Changed:
		w.cov.changed(do)
	case member.Forgotten:
		i.forgotten(do.ID)
	case member.Log:
		i.note(do)
	case member.Within:
		if m := i.contestOf(do.ID); m != nil {
			w.judge.within(m, do.Range)
		}
	case member.Leads, member.Renewals, member.Noticed:
	default:
		panic(fmt.Sprintf("sim: member asked for %T", effect))
	}
}

// note records a line of the member's log in the transcript and the coverage.
func (i *incarnation) note(line member.Log) {
	w := i.p.h.w
	switch line.Message {
	case member.Leaving:
		switch reason := i.member.Leaving(); reason {
		case machine.ReasonRestored:
			w.judge.doubted(i)
		case machine.ReasonSession:
			w.cov.saw(SessionLost)
		case machine.ReasonBlind:
			w.cov.saw(LeftBlind)
		}
	case member.Stray:
		w.cov.saw(StrayReleased)
	case member.Disowns:
		w.cov.saw(HeldOn)
	case member.Silent:
		w.cov.saw(SilentStream)
	case machine.PassedOver.String():
		w.cov.saw(NomineePassedOver)
		if m := i.named(fmt.Sprint(fieldsOf(line)["election"])); m != nil {
			m.passedOver = true
		}
	case machine.Divided.String():
		w.cov.saw(DividedPreference)
	}
}

func fieldsOf(line member.Log) map[string]any {
	fields := zapcore.NewMapObjectEncoder()
	for _, f := range line.Fields[2:] { // without the identity and the revision
		f.AddTo(fields)
	}
	return fields.Fields
}

// over is called when the member has ended: it owes the store nothing any more.
func (i *incarnation) over() {
	p, w := i.p, i.p.h.w
	again, err := i.member.Again()
	if err != nil {
		panic(err)
	}
	if !again {
		p.dead = true
		p.h.proc = nil
		w.logf(p.h.name, "has left")
		w.cov.saw(Left)
		p.h.restartSoon()
		return
	}
	w.cov.saw(Rejoined)
	p.left = i.member.Heritage()
	p.between = true
	w.after(p.left.Pause, func() {
		p.deliver(fromTimer, func() {
			if !p.dead && p.between && p.inc == i {
				p.between = false
				p.join()
			}
		})
	})
}

// forgotten is called when the member has ended its part in an election.
func (i *incarnation) forgotten(id member.ID) {
	h := i.p.h
	for e, m := range i.contests {
		if m != nil && m.id == id {
			i.contests[e] = nil
			h.w.cov.saw(Removed)
			if h.takesPart[e] {
				i.p.tell(fromTimer, i, member.Elections{Added: []*member.Election{i.newContest(e).spec()}})
			}
		}
	}
}

// reconfigured tells the member that an election was added or removed.
func (i *incarnation) reconfigured(e int) {
	h, m := i.p.h, i.contests[e]
	switch {
	case i.p.inc != i || i.member.Leaving() != "":
		return // the next incarnation begins with the new configuration
	case h.takesPart[e] && m == nil:
		i.p.tell(fromTimer, i, member.Elections{Added: []*member.Election{i.newContest(e).spec()}})
	case !h.takesPart[e] && m != nil && !m.removed:
		m.removed = true
		i.p.tell(fromTimer, i, member.Removed{ID: m.id, Why: machine.ReasonRemoved})
	}
}

// prefers tells the member which preferences its host has seen.
func (i *incarnation) prefers() {
	i.p.tell(fromTimer, i, member.Prefer{Preference: i.p.h.seen})
}

// ready tells the member whether its runners are ready.
func (i *incarnation) ready() {
	var in []member.Input
	for _, m := range i.contests {
		if m != nil {
			in = append(in, member.Ready{ID: m.id, Ready: i.p.h.ready})
		}
	}
	i.p.tell(fromTimer, i, in...)
}

func (i *incarnation) contestOf(id member.ID) *contest {
	at := slices.IndexFunc(i.contests, func(m *contest) bool { return m != nil && m.id == id })
	if at < 0 {
		return nil
	}
	return i.contests[at]
}

func (i *incarnation) named(name string) *contest {
	at := slices.IndexFunc(i.contests, func(m *contest) bool { return m != nil && m.of() == name })
	if at < 0 {
		return nil
	}
	return i.contests[at]
}

// lockOf is the contest whose lock has the given name; nil if there is none.
func (i *incarnation) lockOf(name string) *contest {
	for _, m := range i.contests {
		switch {
		case m == nil:
		case m.name == name:
			return m
		case m.outer != nil && m.outer.name == name:
			return m.outer
		}
	}
	return nil
}
