package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// forcing are operators who ask holders to hand over, whatever these see of the preference (rule forced-handover). An
// operator reads a lock, writes the name of a member into it a while later, and tries again for as long as the same
// term holds the lock. Some take the request back. A third of the runs has such operators.
type forcing struct {
	w     *world
	rng   *rand.Rand
	every time.Duration
}

// termOf is the term of a lock.
type termOf struct {
	lock  string
	token record.Token
}

// pickForcing picks the operators of this run, or nil.
func (w *world) pickForcing(rng *rand.Rand) *forcing {
	if rng.IntN(3) > 0 {
		return nil
	}
	return &forcing{w: w, rng: rng, every: time.Duration(float64(w.timing.LeaseDuration) * []float64{0.1, 0.4, 1.5}[rng.IntN(3)])}
}

// begin schedules the next request.
func (f *forcing) begin() {
	if f != nil {
		f.w.after(1+upTo(f.rng, 2*f.every), f.ask)
	}
}

// ask has an operator look at a lock, or at both locks of an election that moves.
func (f *forcing) ask() {
	w := f.w
	if w.calm {
		return
	}
	f.begin()
	l, to, tries := w.locks[f.rng.IntN(len(w.locks))], f.nominee(), 1+f.rng.IntN(3)
	for _, name := range []string{l.own.Name, l.old.Name} {
		if seen := w.store.read(name); name != "" && (f.rng.IntN(4) > 0 || !l.moves()) && mayBeAsked(seen.Record) {
			w.after(upTo(f.rng, w.timing.RenewInterval), func() { f.write(seen, to, tries) })
		}
	}
}

// nominee is mostly a member that lives, else any that ever did.
func (f *forcing) nominee() string {
	var living []string
	for _, h := range f.w.hosts {
		if h.proc != nil {
			living = append(living, h.proc.inc.identity)
		}
	}
	all := f.w.judge.identities
	if len(living) > 0 && f.rng.IntN(6) > 0 {
		all = living
	}
	if len(all) == 0 {
		return ""
	}
	return all[f.rng.IntN(len(all))]
}

// mayBeAsked says whether a member of ours holds the lock for its work.
func mayBeAsked(r *record.Record) bool { return held(r) && r.Claim == nil && record.OurForm(r.Holder) }

// write carries out the request if the lock is as the operator saw it.
func (f *forcing) write(seen lock.Entry, to string, tries int) {
	w := f.w
	now := w.store.read(seen.Name)
	switch {
	case w.calm || tries == 0 || !mayBeAsked(seen.Record) || !mayBeAsked(now.Record) || now.Record.Holder != seen.Record.Holder || now.Record.Token != seen.Record.Token:
		return
	case now.Version != seen.Version:
		w.after(upTo(f.rng, w.timing.RenewInterval), func() { f.write(now, to, tries-1) })
		return
	}
	w.logf("world", "%s: an operator asks %s to hand over to %q", seen.Name, now.Record.Holder, to)
	w.cov.saw(Forced)
	w.request(seen.Name, to)
	if f.rng.IntN(3) == 0 {
		w.after(upTo(f.rng, w.timing.LeaseDuration), func() { f.write(w.store.read(seen.Name), "", 1) })
	}
}

// request writes a request into a lock.
func (w *world) request(name, to string) {
	at, _ := w.store.find(name)
	r := *w.store.objects[at].Record
	r.HandoverTo = to
	w.judge.asked[termOf{name, r.Token}] = true
	w.store.commit(w.now, name, &r, w.store.objects[at].Version.UID)
}

// forced judges the end of a term by a request: one in the record of that very term, for a member that would take the
// lock.
func (j *judge) forced(m *contest, a member.Stop) {
	if a.Reason != machine.ReasonForced || j.restored() {
		return
	}
	asked := j.asked[termOf{m.name, m.takenToken}]
	if o := m.outer; o != nil {
		asked = j.asked[termOf{o.name, o.takenToken}]
	}
	s := m.state()
	fit := func(p machine.Peer) bool {
		return p.Identity == s.Lock.Record.HandoverTo && p.Ready && p.StandsFor(m.of())
	}
	switch {
	case !asked:
		j.w.violate("rule forced-handover", "%s: %s ends its term %d by a request that nobody made", m.name, m.i.identity, m.takenToken)
	case s == nil || m.outer != nil || m.i.several || s.Lock.Record == nil || s.Lock.Owner != machine.Mine:
	case !slices.ContainsFunc(s.View.Peers, fit) && !slices.ContainsFunc(m.i.knew.Peers, fit):
		j.w.violate("rule forced-handover", "%s: %s ends its term for %q, which would not take the lock", m.name, m.i.identity, s.Lock.Record.HandoverTo)
	}
}
