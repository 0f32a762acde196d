package sim

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// A stranger edits objects without regard for our rules. A stranger's edit is never consistent with our
// annotation, as the guarantee says: it may break a record, not forge one.

// edits are the ways in which a stranger edits a lock.
var edits = []struct {
	fault Fault
	do    func(*world, *record.Record)
}{
	{MarkRemoved, func(_ *world, r *record.Record) { r.Mark = nil }},
	{MadeUnreadable, func(_ *world, r *record.Record) { r.Unreadable, r.Mark = "annotation holder: not JSON", nil }},
	{TokenEdited, func(w *world, r *record.Record) { r.Token = record.Token(1 + w.rng.Uint64N(w.store.revision+1)) }},
	{HolderBlanked, func(_ *world, r *record.Record) { r.Holder = "" }},
	{HolderRenamed, func(w *world, r *record.Record) { r.Holder = pick(w, w.judge.identities) }},
	{HolderForeign, func(w *world, r *record.Record) { r.Holder = "istiod-7f6c-x2x9z" }},
	{DurationEdited, func(w *world, r *record.Record) {
		r.Duration = time.Second * time.Duration(1+w.rng.IntN(int(w.timing.LeaseDuration/time.Second)))
	}},
	{TransitionsEdited, func(w *world, r *record.Record) { r.Transitions += w.rng.IntN(5) - 2 }},
	{LabelsEdited, func(w *world, r *record.Record) { r.Rest = w.now }},
	{HandoverEdited, func(w *world, r *record.Record) { r.HandoverTo = pick(w, w.judge.identities) }}, // as an operator does
	{HolderAndMarkBlanked, func(_ *world, r *record.Record) { r.Holder, r.Mark = "", nil }},
}

// edit commits a stranger's change of an object.
func (w *world) edit(name string, f Fault, do func(*world, *record.Record)) bool {
	at, exists := w.store.find(name)
	if e := w.electionOf(name); !exists || e >= 0 && w.locks[e].ranged {
		return false // a member that starts anew cannot know of a range that no object records (docs/ranges.md)
	}
	old := w.store.objects[at]
	r := *old.Record
	do(w, &r)
	if same(old.Record, &r) {
		return false
	}
	if r.Bound() && (r.Holder != old.Record.Holder || !old.Record.Bound()) {
		return false // the edit might be consistent by chance
	}
	w.logf("world", "%s: a stranger edits it (%v)", name, f)
	w.cov.saw(f)
	w.judge.asked[termOf{name, r.Token}] = w.judge.asked[termOf{name, r.Token}] || f == HandoverEdited
	w.store.commit(w.now, name, &r, old.Version.UID)
	if f != LabelsEdited && w.chance(0.3) {
		edited := w.store.revision
		w.after(w.spell(), func() { w.undo(name, edited, old.Record) })
	}
	return true
}

// undo takes back a stranger's edit, unless the object was written since.
func (w *world) undo(name string, edited uint64, r *record.Record) {
	at, exists := w.store.find(name)
	if w.calm || !exists || w.store.objects[at].Version.Revision != edited {
		return
	}
	w.logf("world", "%s: the stranger takes the edit back", name)
	w.cov.saw(EditUndone)
	w.store.commit(w.now, name, r, w.store.objects[at].Version.UID)
}

func (w *world) editLock() bool {
	e, election := pick(w, edits), w.someElection()
	if w.shared(election) && slices.Contains(notShared, e.fault) {
		return false
	}
	return w.edit(w.elections[election], e.fault, e.do)
}

// notShared are the edits that let an elector of client-go in at once, since it reads only the plain fields.
var notShared = []Fault{HolderBlanked, HolderAndMarkBlanked, DurationEdited}

// labelStorm edits a label, or the plain duration, again and again. A slow storm may last to the end of
// the run.
func (w *world) labelStorm() bool {
	e := w.someElection()
	name, every, times := w.elections[e], w.between(w.timing.RenewInterval/20, w.timing.RenewInterval), 20
	if !w.stormy && w.chance(0.1) {
		// At most one, since edits that are faster than a member's link starve it.
		w.stormy = true
		every, times = w.between(w.timing.RenewInterval, 2*w.timing.RenewInterval), 1<<30
	}
	change := func(w *world, r *record.Record) { r.Rest = w.now }
	if w.chance(0.4) && !w.shared(e) {
		change = func(w *world, r *record.Record) { r.Rest, r.Duration = w.now, time.Second }
	}
	w.storm(name, change, every, times)
	return true
}

func (w *world) storm(name string, change func(*world, *record.Record), every time.Duration, times int) {
	if times > 1000 || times > 0 && !w.calm {
		w.edit(name, LabelsEdited, change)
		w.after(every, func() { w.storm(name, change, every, times-1) })
	}
}

// ambush waits for the next release or take. Then the releaser is cut off for a while, or after a take
// everybody but the taker. Meanwhile a stranger breaks the lock. Another member holds the lock by then, and
// a member that was cut off must not think it free.
func (w *world) ambush() bool {
	e := w.someElection()
	armed := w.bootstrap[e] != machine.BootstrapImmediate && !w.ambushed[e] && !w.shared(e)
	w.ambushed[e] = w.ambushed[e] || armed
	return armed
}

// moved is called after every release and every take of a lock.
func (w *world) moved(m *contest, p machine.Purpose) {
	if !w.ambushed[m.election] || w.calm || m.i.p.dead || w.chance(0.5) {
		return
	}
	w.ambushed[m.election] = false
	blind := w.between(w.timing.LeaseDuration/4, w.timing.LeaseDuration)
	for _, h := range w.hosts {
		if h.proc == nil || (h.proc.inc == m.i) != (p == machine.Release) {
			continue
		}
		w.logf(h.name, "%s: ambush for %v", m.name, blind)
		h.proc.inc.stream.cut(CutRelisted, blind)
		if p == machine.Release {
			h.link.deafUntil = w.now + int64(blind)
			h.out(delivered, requestLost, blind)
		}
	}
	w.after(w.upTo(blind), func() {
		if w.calm {
			return
		}
		w.focus = m.election
		if w.robs(m.election) {
			return
		}
		if w.chance(0.5) {
			w.deleteAt(m.election)
		} else {
			w.edit(m.name, MarkRemoved, func(_ *world, r *record.Record) { r.Mark = nil })
		}
	})
}

func (w *world) deleteLock() bool { return w.deleteAt(w.someElection()) }

func (w *world) deleteAt(e int) bool {
	at, exists := w.store.find(w.elections[e])
	if !exists || w.bootstrap[e] == machine.BootstrapImmediate || w.shared(e) || w.locks[e].ranged { // an elector that creates it leads at once
		return false
	}
	if held(w.store.objects[at].Record) {
		w.cov.saw(HeldLockDeleted)
	}
	w.logf("world", "%s: a stranger deletes it", w.elections[e])
	w.store.commit(w.now, w.elections[e], nil, "")
	return true
}

func (w *world) deleteSession() bool {
	names := w.sessions()
	if len(names) == 0 {
		return false
	}
	name := pick(w, names)
	w.logf("world", "%s: a stranger deletes it", name)
	w.store.commit(w.now, name, nil, "")
	return true
}

func (w *world) editSession() bool {
	names := w.sessions()
	if len(names) == 0 {
		return false
	}
	return w.edit(pick(w, names), SessionEdited, pick(w, []func(*world, *record.Record){
		func(_ *world, r *record.Record) { r.Mark = nil },
		func(_ *world, r *record.Record) {
			r.Unreadable, r.Mark, r.Member = "annotation member: not JSON", nil, nil
		},
		func(_ *world, r *record.Record) { r.Holder = "" },
		func(w *world, r *record.Record) { r.Rest = w.now },
		func(w *world, r *record.Record) { r.Holder = pick(w, w.judge.identities) },
		func(_ *world, r *record.Record) { r.Duration = time.Second },
	}))
}
