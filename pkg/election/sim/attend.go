package sim

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/session"
)

// What a driver that takes in bursts does after each of them. The order is the product's
// (package election, realm.attend), and so is what the machines are told between. Left out is
// what the product puts off by some milliseconds: to publish a preference that others gain by,
// and to end the session of who leaves; and that it does not send what is known to be lost.

// attend does all that is due now, after so much was taken in.
func (i *incarnation) attend(taken int) {
	w, now := i.p.h.w, i.now()
	for m := i.due(now); m != nil; m = i.due(now) {
		if taken > 0 {
			w.cov.saw(TimerBehindBurst)
		}
		m.wake.at = 0
		m.tick()
	}
	if i.untrusted != "" {
		i.resign(i.untrusted)
	}
	if i.unreadyAt.at <= now {
		i.set(&i.unreadyAt, 0)
	}
	i.own.Publish(i.member())
	i.drop(now)
	if i.ending != "" && !i.busy() {
		i.own.Leave()
	}
	i.tendSession()
	if i.ending != "" && !i.busy() && !i.own.Over() && now >= i.giveUpAt {
		i.own.Abandon()
	}
	i.tendSight(now)
	i.tendView(now)
	i.tendStream(now)
	if i.ending != "" && !i.busy() && i.own.Over() {
		i.over()
	}
}

// due is the part whose instant came first, of those whose has come.
func (i *incarnation) due(now record.Instant) (first *part) {
	for _, m := range i.machines {
		if m != nil && m.wake.at != 0 && m.wake.at <= now && (first == nil || m.wake.at < first.wake.at) {
			first = m
		}
	}
	return first
}

// busy says whether there is an election left that it takes part in.
func (i *incarnation) busy() bool {
	return slices.ContainsFunc(i.machines, func(m *part) bool { return m != nil })
}

// stepAside is how long a leaving member is ready still, as the others see it.
const stepAside = 50 * time.Millisecond

// resign gives everything up, at once.
func (i *incarnation) resign(why machine.Reason) {
	if i.ending != "" {
		return
	}
	now := i.now()
	i.ending, i.giveUpAt = why, now.Add(i.p.h.timing.LeaseDuration)
	i.set(&i.unreadyAt, now.Add(stepAside))
	for _, m := range i.machines {
		if m != nil {
			m.step(machine.Resign{Reason: why})
		}
	}
}

// drop forgets the parts that resigned and owe nothing any more.
func (i *incarnation) drop(now record.Instant) {
	dropped := false
	for e, m := range i.machines {
		if m == nil || !m.removed && i.ending == "" || !m.settled() {
			continue
		}
		i.machines[e] = nil
		i.beats[e] = m.state.Beat
		dropped = true
		if m.removed {
			i.p.h.w.cov.saw(Removed)
		}
	}
	if dropped && !i.busy() {
		i.giveUpAt = max(i.giveUpAt, now.Add(i.p.h.timing.RenewInterval))
	}
}

// tendSight looks whether the beats of its session are seen.
func (i *incarnation) tendSight(now record.Instant) {
	if i.ending != "" || i.beat.Sent == 0 {
		i.set(&i.sightAt, 0)
		return
	}
	at := i.beat.Sent.Add(2 * i.p.h.timing.LeaseDuration)
	if now < at {
		i.set(&i.sightAt, at)
		return
	}
	i.set(&i.sightAt, 0)
	i.blind()
}

// tendView tells the machines of the directory, if it may be another one.
func (i *incarnation) tendView(now record.Instant) {
	if !i.viewStale && (i.viewAt.at == 0 || now < i.viewAt.at) {
		return
	}
	i.viewStale = false
	view, changes := i.dir.View(now, i.identity)
	i.set(&i.viewAt, changes)
	if view == i.view {
		return
	}
	i.view = view
	for _, m := range i.machines {
		if m != nil {
			m.step(machine.DirectoryChanged{View: view})
		}
	}
}

// tendStream begins the stream anew when it has been silent for longer than our own beats
// would let it.
func (i *incarnation) tendStream(now record.Instant) {
	lease := i.p.h.timing.LeaseDuration
	if now >= i.stream.heardAt.Add(lease) {
		if i.stream.open {
			i.p.h.w.cov.saw(SilentStream)
		}
		i.stream.again()
		i.stream.heardAt = now
	}
	i.set(&i.streamAt, i.stream.heardAt.Add(lease))
}

// shownInBurst takes in one change that the stream shows. The machines hear of a session
// before a lock is shown, and else when the burst is over.
func (i *incarnation) shownInBurst(e *lock.Entry) {
	i.stream.heardAt = i.now()
	if i.dir.Owns(e.Name) {
		i.p.h.w.judge.shown(i, e)
		i.viewStale = true
		i.dir.Observe(i.now(), e.Name, e.Record, e.Version)
		i.sawBeat(e)
		return
	}
	i.lockShown(machine.Stream, e, 0)
}

func (i *incarnation) lockShown(by machine.Source, e *lock.Entry, sent record.Instant) {
	before := i.view
	i.tendView(i.now()) // whose the lock is follows from the sessions shown before it
	if i.view != before {
		i.p.h.w.cov.saw(ViewBeforeLock)
	}
	m := i.machineOf(e.Name)
	if m == nil {
		m = i.stray(e)
	}
	if m != nil {
		m.observed(by, e.Record, e.Version, sent)
	}
}

// listedInBurst takes in a consistent list. Each lock in it is shown beside the directory
// that the list shows, of which the machines were not told before.
func (i *incarnation) listedInBurst(sent record.Instant, revision uint64, entries []lock.Entry) {
	now := i.now()
	i.stream.heardAt = now
	var sessions []session.Shown
	for _, e := range entries {
		if i.dir.Owns(e.Name) {
			sessions = append(sessions, session.Shown{Name: e.Name, Record: e.Record, Version: e.Version})
		}
	}
	if !i.dir.List(now, sent, revision, sessions) {
		i.resetSeen()
	}
	view, changes := i.dir.View(now, i.identity)
	i.set(&i.viewAt, changes)
	if view != i.view {
		i.p.h.w.cov.saw(ViewWithList)
	}
	i.view, i.viewStale, i.listView = view, false, view
	shown := map[string]bool{}
	for at := range entries {
		if e := &entries[at]; !i.dir.Owns(e.Name) {
			shown[e.Name] = true
			i.lockShown(machine.List, e, sent)
		}
	}
	for _, m := range i.machines {
		if m != nil && !shown[m.name] {
			i.lockShown(machine.List, &lock.Entry{Name: m.name, Version: record.Version{Revision: revision}}, sent)
		}
	}
	i.listView = nil
	for at := range entries {
		if e := &entries[at]; i.dir.Owns(e.Name) {
			i.p.h.w.judge.shown(i, e)
			i.sawBeat(e)
		}
	}
}
