package sim

import (
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// This file judges work beside foreign electors. Ours never overlaps with theirs, with two exceptions in
// the guarantee: an elector of Istio's steals, and works before anybody can see the theft; an elector of
// client-go's whose renewals are stored, but not answered, releases soon after such a renewal, and before its work has stopped.

// stored is called when the elector's write, which replaced the record before, was just committed.
func (r *run) stored(before *record.Record, e lock.Entry) {
	w := r.e.w
	r.renewedAt = w.now
	switch {
	case e.Record.Holder == "":
		r.released = r.released || r.working
		r.late = r.late || before.Holder == r.identity && isLate(before, e.Record)
		w.cov.saw(ForeignReleased)
		if before.Holder != r.identity {
			w.cov.saw(BlankedByForeign)
			for _, o := range w.workingElectors(r.e.election) {
				if o.identity == before.Holder {
					o.blanked, o.blanker = true, r
				}
			}
		}
		return
	case before != nil && before.Holder == r.identity:
		r.late = isLate(before, e.Record)
		return
	}
	r.over = ""
	if before != nil && before.Mark != nil && !before.Bound() {
		r.over = before.Mark.Identity
	}
	r.stole = r.e.istio && before != nil && before.Holder != "" && r.valid(r.now())
	if r.stole {
		w.cov.saw(ForeignStole)
		for _, o := range w.workingElectors(r.e.election) {
			if o.identity == before.Holder {
				o.robbedAt = e.Version.Revision
			}
		}
	}
	r.began, r.late, r.blanked, r.robbedAt, r.suspected, r.shown = e.Version.Revision, false, false, 0, false, nil
	r.freed = before != nil && !r.stole && before.Bound() && (before.Holder == "" || before.Claim != nil)
}

// isLate says whether a member that saw both of two writes of an elector has to know that renewals failed in between. That the judge
// says this for itself is meant.
func isLate(r, next *record.Record) bool {
	return next.Renewed.Sub(r.Renewed) >= r.Duration*2/5
}

// work begins the elector's work.
func (r *run) work() {
	w := r.e.w
	w.cov.saw(ForeignLed)
	r.working = true
	w.logf(r.e.name, "%s: at work as %s", w.elections[r.e.election], r.identity)
	for _, k := range w.judge.working[r.e.election] {
		if !r.stole && r.over != k.m.i.identity {
			w.violate("overlap", "%s: %s begins while %s (token %d) is at work", w.elections[r.e.election], r.identity, k.m.i.identity, k.token)
		}
		w.cov.saw(OverlapByTheft)
	}
	for _, o := range w.workingElectors(r.e.election) {
		// An elector that took the lock later than r stole it; that is between electors. So is one that was robbed, if none of ours
		// that has written the lock since then knew of it.
		if lastOfOurs := w.judge.writer[w.elections[r.e.election]]; o.began < r.began && r.freed && !o.released && (o.suspected || !o.robbedUnseen(lastOfOurs)) {
			w.violate("freed", "%s: %s begins on a lock that we freed, while %s is at work", w.elections[r.e.election], r.identity, o.identity)
		}
	}
}

// shownHolder notes that a process of ours was shown the lock as an elector's.
func (w *world) shownHolder(m *contest, e lock.Entry) {
	for _, f := range w.electors {
		r := f.run
		if f.election == m.election && r != nil && r.identity == e.Record.Holder && e.Version.Revision >= r.began && !r.knownTo(m) {
			r.shown = append(r.shown, m.i.p)
		}
	}
}

// knownTo says whether the member's process was shown the lock as r's, since r took it.
func (r *run) knownTo(m *contest) bool { return slices.Contains(r.shown, m.i.p) }

// suspect notes the electors at work of which a member knew that has just written the lock, although others robbed them.
func (j *judge) suspect(m *contest) {
	for _, r := range j.w.workingElectors(m.election) {
		r.suspected = r.suspected || r.robbedAt != 0 && r.knownTo(m)
	}
}

// robbedUnseen says whether another elector robbed r before the member first saw the lock, and the member's process never saw it as r's.
func (r *run) robbedUnseen(m *contest) bool {
	return m != nil && r.robbedAt != 0 && r.robbedAt <= m.firstSeen && !r.knownTo(m)
}

// rest ends the elector's work.
func (r *run) rest() {
	if r.working {
		r.working = false
		r.e.w.logf(r.e.name, "%s: work of %s is off", r.e.w.elections[r.e.election], r.identity)
	}
}

// prefers judges that a leader gives up a lock shared with Istio as soon as it hears that another revision is
// preferred. Whatever else changes in the preference, Istio's electors steal as before.
func (j *judge) prefers(m *contest, now record.Preferred) {
	was, s := m.preferred, m.state()
	m.preferred = now
	if now.State == was.State && now.Revision == was.Revision {
		return
	}
	m.turnedAt = m.i.now()
	if j.w.foreign[m.election].Sharing == machine.SharedWithIstio && s.Role == machine.Leading &&
		m.preferred.State == record.PreferredSet && m.preferred.Revision != m.i.p.h.revision {
		j.w.violate("yield", "%s: %s leads on although %v is preferred", m.name, m.i.identity, m.preferred)
	}
}

func (w *world) workingElectors(e int) []*run {
	var all []*run
	for _, f := range w.electors {
		if f.election == e && f.run != nil && f.run.working {
			all = append(all, f.run)
		}
	}
	return all
}

// besideElectors judges work of ours that begins beside foreign work. It excuses an elector at work that we
// cannot know of (docs/interop.md, limits):
//
//   - it has released soon after two renewals, and so counts as stopped;
//   - it took the lock before we first saw it, and another elector's release then overwrote its record;
//   - it stole the lock after our take;
//   - another elector robbed it before we first saw the lock: nobody suspects it when the robber leaves. The same goes for a lock that
//     we free.
//
// A process that was shown an elector, or the one that overwrote its record, knows of it, however often its elections are exchanged.
func (j *judge) besideElectors(k *work) {
	for _, r := range j.w.workingElectors(k.m.election) {
		switch {
		case r.released && !(r.late && k.m.firstSeen <= r.began), r.blanked && r.began <= k.m.firstSeen && !r.blanker.knownTo(k.m):
			j.w.cov.saw(ReleasedAtWork)
		case r.stole && r.began > k.m.takenRevision, r.robbedUnseen(k.m):
			j.w.cov.saw(OverlapByTheft)
		default:
			j.w.violate("overlap", "%s: %s (token %d) begins while %s is at work", k.m.name, k.m.i.identity, k.token, r.identity)
		}
	}
}
