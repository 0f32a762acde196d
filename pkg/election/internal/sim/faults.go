package sim

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// planned lists the faults that a plan may contain; do reports whether the fault took effect.
var planned = []struct {
	fault Fault
	class Class // zero for every class
	// foreign: the fault strikes foreign electors.
	foreign bool
	do      func(*world) bool
}{
	{fault: Crash, do: (*world).crash},
	{fault: Pause, do: (*world).pauseProcess},
	{fault: Leave, do: (*world).leave},
	{fault: WritesOut, do: (*world).writesOut},
	{fault: ReadsOut, do: (*world).readsOut},
	{fault: Partition, do: (*world).partition},
	{fault: Outage, do: (*world).outage},
	{fault: Stall, do: (*world).stallStream},
	{fault: CutResumed, do: func(w *world) bool { return w.cutStream(CutResumed) }},
	{fault: CutRelisted, do: func(w *world) bool { return w.cutStream(CutRelisted) }},
	{fault: LockDeleted, do: (*world).deleteLock},
	{fault: LockEdited, do: (*world).editLock},
	{fault: LabelStorm, do: (*world).labelStorm},
	{fault: Ambush, do: (*world).ambush},
	{fault: SessionDeleted, do: (*world).deleteSession},
	{fault: SessionEdited, do: (*world).editSession},
	{fault: PreferenceFlipped, do: (*world).flipPreference},
	{fault: Reconfigured, do: (*world).reconfigure},
	{fault: RunnerFailed, do: (*world).failWork},
	{fault: Unready, do: (*world).unready},
	{fault: ElectorCrash, do: (*world).crashElector, foreign: true},
	{fault: ElectorPause, do: (*world).pauseElector, foreign: true},
	{fault: ElectorLeave, do: (*world).cancelElector, foreign: true},
	{fault: ElectorCutOff, do: (*world).cutOffElector, foreign: true},
	{fault: Silence, class: Outages, do: (*world).silence},
	{fault: Silence, class: Settings, do: (*world).silence},
	{fault: Restored, class: Restore, do: (*world).restoreStore},
	{fault: LockPutBack, class: PutBack, do: (*world).putLockBack},
}

// notMixed are the faults that never happen while members have different timings. A member with shorter
// timings that sees a record without a duration, and never saw this record with one, cannot know how long to
// wait; the guarantee then assumes one leaseDuration.
var notMixed = []Fault{LockDeleted, LockEdited, Ambush, SessionDeleted, SessionEdited, LockPutBack}

// planFaults picks the kinds of fault of this run, how dense they are, and when each happens.
func (w *world) planFaults() {
	var kinds []int
	for {
		for k, p := range planned {
			if !w.happens(p.fault) || p.foreign && len(w.electors) == 0 {
				continue
			}
			if (p.class == 0 && w.chance(0.4)) || (p.class == w.options.Class && p.class != 0) {
				kinds = append(kinds, k)
			}
		}
		if len(kinds) > 0 {
			break
		}
	}
	gap := time.Duration(float64(w.timing.LeaseDuration) * []float64{0.2, 0.5, 1, 3}[w.rng.IntN(4)])
	var plan []int64
	for t := int64(w.timing.LeaseDuration); t < w.calmAt; {
		plan = append(plan, t)
		t += 1 + int64(w.upTo(2*gap))
	}
	w.await(plan[1:], kinds)
}

// await schedules misfortune for each of the times. Only the next one is in the queue, which keeps the
// queue short.
func (w *world) await(plan []int64, kinds []int) {
	if len(plan) > 0 {
		w.at(plan[0], func() {
			w.misfortune(kinds)
			w.await(plan[1:], kinds)
		})
	}
}

// misfortune is one fault, or several in close succession on the same member and election: danger seldom
// comes alone.
func (w *world) misfortune(kinds []int) {
	election, times := w.rng.IntN(len(w.elections)), 1
	var victim *host
	if w.chance(0.25) {
		times += 1 + w.rng.IntN(4)
		if m := w.leader(election); m != nil {
			victim = m.i.p.h
		}
	}
	for n := range times {
		p := planned[pick(w, kinds)]
		w.after(time.Duration(n)*w.upTo(w.timing.LeaseDuration/2), func() {
			w.victim, w.focus = victim, election
			if !w.calm && p.do(w) {
				w.cov.saw(p.fault)
			}
		})
	}
}

// becalm ends all faults.
func (w *world) becalm() {
	w.calm = true
	w.logf("world", "calm")
	if w.steering != nil {
		w.steering.becalm()
	}
	w.operators.becalm()
	spare := w.rng.IntN(len(w.hosts))
	for n, h := range w.hosts {
		h.link.writesUntil, h.link.readsUntil, h.link.deafUntil = 0, 0, 0
		h.ready = true
		if h.proc == nil {
			w.after(w.upTo(time.Second), h.boot)
		} else {
			h.proc.inc.each((*stream).flow)
			h.proc.resume()
		}
		if h.proc != nil {
			h.proc.inc.ready()
		}
		if h.proc != nil && n == spare && w.chance(0.3) {
			h.gone = true
			h.proc.kill("for good")
		}
		w.after(w.upTo(time.Second), h.syncPreferences)
	}
	w.becalmElectors()
	w.judge.becalmed()
	w.after(lookEvery-time.Duration(w.now)%lookEvery, func() { w.every(lookEvery, w.judge.look) })
}

// someone is a host whose process runs, preferably one that leads; nil if there is none.
func (w *world) someone() *host {
	if w.victim != nil && w.victim.proc != nil && w.chance(0.8) {
		return w.victim
	}
	if w.chance(0.6) {
		if m := w.leader(w.someElection()); m != nil {
			return m.i.p.h
		}
	}
	if h := w.hosts[w.rng.IntN(len(w.hosts))]; h.proc != nil {
		return h
	}
	return nil
}

// someElection is an election, mostly the focus of the present misfortune.
func (w *world) someElection() int {
	if w.chance(0.7) {
		return w.focus
	}
	return w.rng.IntN(len(w.elections))
}

// leader is the contest whose machine leads the election; nil if none does.
func (w *world) leader(e int) *contest {
	for _, h := range w.hosts {
		if h.proc != nil {
			if m := h.proc.inc.contests[e]; m != nil && m.leads() {
				return m
			}
		}
	}
	return nil
}

// spell is a random length for a fault: some are short, some outlast a lease.
func (w *world) spell() time.Duration {
	if w.chance(0.4) {
		return w.upTo(w.timing.RenewInterval)
	}
	return w.upTo(w.timing.LeaseDuration * 5 / 2)
}

func (w *world) crash() bool {
	h := w.someone()
	if h == nil {
		return false
	}
	h.proc.kill("SIGKILL")
	h.restartSoon()
	return true
}

func (w *world) pauseProcess() bool {
	h := w.someone()
	if h == nil || h.proc.paused {
		return false
	}
	h.proc.pause(w.spell())
	return true
}

func (w *world) leave() bool {
	h := w.someone()
	if h == nil || h.proc.paused || h.proc.leaving || h.proc.between || h.proc.inc.member.Leaving() != "" {
		return false
	}
	w.logf(h.name, "is told to leave")
	h.proc.leaving = true
	h.proc.tell(fromTimer, h.proc.inc, member.Leave{})
	return true
}

func (h *host) out(writes, reads fate, d time.Duration) {
	h.link.out(writes, reads, d)
	h.w.logf(h.name, "link: writes %d, reads %d for %v", writes, reads, d)
}

func (l *link) out(writes, reads fate, d time.Duration) {
	until := l.w.now + int64(d)
	if writes != delivered {
		l.writes, l.writesUntil = writes, until
	}
	if reads != delivered {
		l.reads, l.readsUntil = reads, until
	}
}

func (w *world) writesOut() bool {
	h := w.someone()
	if h != nil {
		h.out(requestLost+fate(w.rng.IntN(int(fates-requestLost))), delivered, w.spell())
	}
	return h != nil
}

func (w *world) readsOut() bool {
	h := w.someone()
	if h != nil {
		h.out(delivered, requestLost, w.spell())
	}
	return h != nil
}

func (w *world) partition() bool {
	h := w.someone()
	if h == nil {
		return false
	}
	d := w.spell()
	h.out([]fate{requestLost, replyLost, requestLate}[w.rng.IntN(3)], requestLost, d)
	h.proc.inc.oneOf().stall(d)
	return true
}

// outage takes the store away from everybody.
func (w *world) outage() bool {
	d := w.spell()
	writes := requestLost + fate(w.rng.IntN(int(fates-requestLost)))
	for _, h := range w.hosts {
		h.out(writes, requestLost, d)
		if h.proc != nil && w.chance(0.5) {
			h.proc.inc.oneOf().stall(d)
		}
	}
	for _, e := range w.electors {
		e.link.out(writes, requestLost, d)
	}
	w.words.away(d)
	return true
}

func (w *world) stallStream() bool {
	h := w.someone()
	if h == nil {
		return false
	}
	d := w.spell()
	w.logf(h.name, "stream stalls for %v", d)
	h.proc.inc.oneOf().stall(d)
	return true
}

func (w *world) cutStream(f Fault) bool {
	h := w.someone()
	if h == nil || !h.proc.inc.oneOf().cut(f, w.spell()) {
		return false
	}
	w.logf(h.name, "stream is cut (%v)", f)
	return true
}

func (w *world) flipPreference() bool {
	if w.steering != nil {
		if !w.steering.word() {
			return false
		}
		w.cov.saw(RolloutWord)
		return true
	}
	e := w.someElection()
	p := w.pickPreference()
	if p == w.preferred[e] {
		return false
	}
	w.preferred[e] = p
	w.logf("world", "%s: preferred revision is %v", w.elections[e], p)
	for _, h := range w.hosts {
		delay := w.upTo(time.Second)
		if w.chance(0.2) {
			delay = w.spell()
		}
		w.after(delay, h.syncPreferences)
	}
	for _, f := range w.electors {
		w.after(w.upTo(time.Second), f.syncPreference)
	}
	return true
}

// reconfigure adds an election to a member's configuration, or removes one. Often it does more of that right away, and the
// member's watch may start over meanwhile.
func (w *world) reconfigure() bool {
	h := w.someone()
	if h == nil || !w.reconfigureOf(h) {
		return false
	}
	for range w.rng.IntN(4) {
		w.after(w.upTo(2*time.Second), func() {
			if !w.calm {
				w.reconfigureOf(h)
			}
		})
	}
	if w.chance(0.2) {
		w.after(w.upTo(2*time.Second), func() {
			if !w.calm && h.proc != nil && h.proc.inc != nil {
				h.proc.inc.stream.cut(CutRelisted, w.upTo(100*time.Millisecond))
			}
		})
	}
	return true
}

func (w *world) reconfigureOf(h *host) bool {
	e := w.someElection()
	if h.proc == nil || h.proc.inc == nil || h.proc.paused || h.proc.between || h.proc.inc.member.Leaving() != "" {
		return false
	}
	i := h.proc.inc
	switch m := i.contests[e]; {
	case m == nil && !h.takesPart[e]:
		w.logf(h.name, "%s: added", w.elections[e])
		h.takesPart[e] = true
		w.cov.saw(Added)
	case m != nil && !m.removed && h.takesPart[e]:
		w.logf(h.name, "%s: removed", w.elections[e])
		h.takesPart[e] = false
	default:
		return false
	}
	i.reconfigured(e)
	return true
}

func (w *world) failWork() bool {
	m := w.leader(w.someElection())
	if m == nil || m.work == nil || !m.work.on || m.work.asked || m.i.p.paused {
		return false
	}
	m.work.fail()
	return true
}

func (w *world) unready() bool {
	h := w.someone()
	if h == nil || !h.ready {
		return false
	}
	set := func(ready bool) func() {
		return func() {
			h.ready = ready
			if h.proc != nil {
				h.proc.inc.ready()
			}
		}
	}
	set(false)()
	w.after(w.spell(), set(true))
	return true
}

// restoreStore takes a backup of the store now, and restores it a while later.
func (w *world) restoreStore() bool {
	backup := w.store.snapshot()
	w.after(w.spell(), func() {
		if w.calm || w.store.revision < backup.revision {
			return // another restore has already reset it to an even earlier state
		}
		w.logf("world", "store is restored from revision %d to %d", w.store.revision, backup.revision)
		w.store.restore(backup)
		for _, h := range w.hosts {
			if h.proc != nil {
				h.proc.inc.each(func(s *stream) { s.cut(CutRelisted, w.upTo(time.Second)) })
			}
		}
	})
	return true
}

// changed shows a change of the store to all streams.
func (w *world) changed(c change) {
	if w.tracing() {
		w.logf("store", "%s: %s", c.entry.Name, describe(c.entry.Record, c.entry.Version))
	}
	w.judge.changed(c.entry)
	for _, h := range w.hosts {
		if h.proc != nil {
			h.proc.inc.each((*stream).kick)
		}
	}
}

// held says whether the record names a holder that a member of ours wrote.
func held(r *record.Record) bool { return r != nil && r.Holder != "" && r.Bound() }

// pick is a random element.
func pick[T any](w *world, of []T) T { return of[w.rng.IntN(len(of))] }

// sessions are the names of all sessions that exist.
func (w *world) sessions() []string {
	var names []string
	for _, o := range w.store.objects {
		if w.isSession(o) {
			names = append(names, o.Name)
		}
	}
	return names
}
