package scenario

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// incarnation hosts one member of production: it tells the member what happens, and performs its effects.
type incarnation struct {
	p        *process
	identity string
	member   *member.Member
	streams  map[uint64]*stream // by watch
	works    []*work            // by election; nil if there is none
	// alarmAt is when the alarm goes off; zero if it is off.
	alarmAt record.Instant
}

// join begins an incarnation.
func (p *process) join() {
	s := p.w.s
	i := &incarnation{
		p: p, identity: record.NewIdentity(p.spec.Name, p.w.rng.Uint32()),
		streams: map[uint64]*stream{}, works: make([]*work, len(s.Elections)),
	}
	i.member = member.New(member.Config{
		Group: s.Group, Host: p.spec.Name, Identity: i.identity,
		Revision: p.spec.Revision, Location: p.spec.Location, Weight: p.spec.Weight,
		Timing: s.Timing, WritesPerSecond: member.WritesPerSecond,
		Chance: rand.NewPCG(p.w.rng.Uint64(), p.w.rng.Uint64()), Heritage: p.left,
	})
	p.inc = i
	var elections []*member.Election
	for n := range s.Elections {
		e := &s.Elections[n]
		if e.Only != "" && e.Only != p.spec.Revision {
			continue
		}
		election := &member.Election{
			ID: member.ID(n), Name: e.Name, Lock: cmp.Or(e.Lock.Name, e.Name), Locks: p.w.kept(e.Lock),
			Settings: &member.Settings{
				Timing: e.Timing, Policy: e.Policy, Bootstrap: e.Bootstrap,
				Foreign: e.Foreign, Range: e.Range, Outage: e.Outage, Renewal: e.Renewal,
			},
			Works: e.Runners != WithoutRunners, Before: int32(p.terms[n]), Ranges: p.ranges[n], // #nosec G115 -- a count of terms
		}
		if from := e.MigrateFrom; from != nil {
			election.MigrateFrom = &member.LockRef{Lock: cmp.Or(from.Name, e.Name), Locks: p.w.kept(*from)}
		}
		elections = append(elections, election)
	}
	i.do(member.Prefer{Preference: p.preferred}, member.Elections{Added: elections})
}

// kept names the store of a lock in the way that members name it.
func (w *world) kept(l Lock) member.Store {
	at := int32(w.realm.store(l.Store))                                    // #nosec G115 -- a few stores
	return member.Store{ID: at, ByName: l.Store != "", Objects: int16(at)} // #nosec G115 -- a few stores
}

// do steps the member, unless this incarnation is over.
func (i *incarnation) do(in ...member.Input) {
	if i.p.inc != i {
		return
	}
	for _, effect := range i.member.Step(i.p.now(), i.p.w.wall(), in...) {
		i.perform(effect)
	}
	if i.member.Over() {
		i.p.rejoin()
		return
	}
	i.setAlarm()
}

// setAlarm has the member stepped when the next thing is due.
func (i *incarnation) setAlarm() {
	next := i.member.Wake()
	if next == i.alarmAt {
		return
	}
	i.alarmAt = next
	if next != 0 {
		i.p.w.at(i.p.when(next), func() {
			if i.alarmAt == next {
				i.alarmAt = 0
				i.do()
			}
		})
	}
}

func (i *incarnation) perform(effect member.Effect) {
	w := i.p.w
	switch do := effect.(type) {
	case member.Send:
		i.send(do)
	case member.Watch:
		s := &stream{i: i, watch: do.Watch, store: w.realm.stores[do.Store.ID], names: do.Names}
		i.streams[do.Watch] = s
		s.list()
	case member.EndWatch:
		s := i.streams[do.Watch]
		delete(i.streams, do.Watch)
		s.ended, s.open = true, false
		w.at(w.now, func() { i.do(member.WatchEnded{Watch: do.Watch}) })
	case member.Relist: // only by names: no election is added later
		if s := i.streams[do.Watch]; s != nil {
			s.trial = do.Trial
			s.try(do.Trial, 1)
		}
	case member.Start:
		i.p.terms[do.ID] = do.Cycle
		i.works[do.ID] = begin(i, do)
	case member.Extend:
		if k := i.works[do.ID]; k != nil {
			k.until = max(k.until, do.Deadline)
			k.beats = do.Beats
		}
	case member.Beat:
		for _, k := range i.works {
			if k != nil && !k.stopping && k.beats == do.Since {
				k.until = max(k.until, do.Deadline)
			}
		}
	case member.Stop:
		k := i.works[do.ID]
		switch {
		case k == nil:
		case w.s.Elections[do.ID].Runners == WithoutRunners:
			i.works[do.ID] = nil
			k.off(string(do.Reason))
		default:
			k.stop(do)
		}
	case member.Log:
		i.note(do)
	case member.Forgotten, member.Leads, member.Changed, member.Renewals, member.Noticed, member.Within:
	default:
		panic(fmt.Sprintf("scenario: member asked for %T", effect))
	}
}

// note copies to the timeline what a member's log says about others and itself.
func (i *incarnation) note(line member.Log) {
	fields := zapcore.NewMapObjectEncoder()
	for _, f := range line.Fields {
		f.AddTo(fields)
	}
	switch line.Message {
	case machine.PassedOver.String():
		detail := fmt.Sprint(fields.Fields["detail"])
		i.p.w.note("%v: %s passes over %s, which did not take the lock", fields.Fields["election"], i.p.spec.Name, cmp.Or(i.p.w.nameOf(detail), detail))
	case member.Leaving:
		i.p.w.note("%s stops its work and leaves: %v", i.p.spec.Name, fields.Fields["reason"])
	}
}

// nameOf is the name of the member with the given identity; empty if there is none.
func (w *world) nameOf(identity string) string {
	for _, p := range w.members {
		if p.inc != nil && p.inc.identity == identity {
			return p.spec.Name
		}
	}
	return ""
}

// send sends a request. While the API is away there is no answer, and nobody knows whether the request
// was carried out.
func (i *incarnation) send(do member.Send) {
	w := i.p.w
	switch {
	case do.Write == nil:
		w.count.Reads++
	case do.Purpose == 0:
		w.count.Beats++
	case do.Purpose == machine.Renew:
		w.count.Renewals++
	default:
		w.count.Moves++
	}
	store := w.realm.stores[do.Store.ID]
	answer := member.Answered{Request: do.Request, Err: lock.ErrUnknown}
	i.course(func() {
		if do.Write == nil {
			answer.Entry, answer.Err = store.get(do.Name), nil
			return
		}
		answer.Entry, answer.Err = store.put(do.Name, do.Write, do.Replaces)
		if answer.Err != nil {
			return
		}
		for _, p := range w.members {
			if p.inc != nil {
				p.inc.kick()
			}
		}
	}, func() { i.do(answer) })
}

// course has the API act on a request, unless the API is away, and then tells the incarnation the outcome.
func (i *incarnation) course(act, heard func()) {
	w := i.p.w
	acts := w.now + int64(writeLatency)
	w.at(acts, func() {
		if !w.away(acts) {
			act()
		}
		if i.p.inc == i {
			heard()
		}
	})
}
