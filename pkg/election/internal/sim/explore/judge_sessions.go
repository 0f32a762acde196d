package explore

import (
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// judgeShown notes when a stream shows a member's own beat to the member.
func (w *world) judgeShown(i int, s shown) {
	m := w.procs[i]
	if s.name != "" {
		m.truth.shownSent = max(m.truth.shownSent, m.sentAt(m.identity, s.name, s.stored))
	}
	for _, o := range s.sessions {
		m.truth.shownSent = max(m.truth.shownSent, m.sentAt(m.identity, o.name, o.stored))
	}
}

// judgeGranted: the member grants its work no more time than follows from its last beat that it has seen on
// the stream that carries the lock (rule seen-not-assumed).
func (w *world) judgeGranted(i int, m *proc, until record.Instant) {
	if w.x.options.Renewal == record.RenewalSession && until > m.truth.shownSent.Add(w.x.options.Timing.Validity()) {
		w.violate("%s grants more than the beats that it has seen allow", name(i))
	}
}

// judgeSession: a session that has ended never beats again. Its owner ends a session only when the owner's
// work has stopped, others only when the session has lapsed (rule a-session-ends-once).
func (w *world) judgeSession(i, incarnation int, sent record.Instant, before, r *record.Record) {
	me := identity(i, incarnation)
	m := w.procs[i]
	mine := m.member != nil && m.incarnation == incarnation
	if r.Holder == me {
		if before != nil && before.Holder == "" && before.Member.Identity == me || mine && m.truth.ended {
			w.violate("the session of %s beats after its end", name(i))
		}
		if mine {
			w.edit(i).truth.beatSent = max(m.truth.beatSent, sent)
		}
	}
	if before == nil || before.Holder == "" || before.Holder == r.Holder {
		return
	}
	// The write ends the session of the slot's former holder: it says so, or it uses the slot anew.
	for j, o := range w.procs {
		if j == i && mine && before.Holder == me {
			o = w.edit(j)
			o.truth.ended = true
			if o.work.on || o.work.asked {
				w.violate("%s ends its session before its work has stopped", name(j))
			}
			continue
		}
		lives := o.member != nil && o.identity == before.Holder
		switch {
		case lives && w.local(j) < o.truth.beatSent.Add(w.x.options.Timing.Validity()):
			w.violate("%s ends the session of %s, which has not lapsed", name(i), name(j))
		case w.x.options.Renewal != record.RenewalSession: // the lock lasts without it
		case lives && o.work.on, !lives && o.orphan != 0 && record.HostOf(before.Holder) == name(j):
			w.violate("%s ends the session of %s while that works", name(i), name(j))
		}
		if lives {
			w.edit(j).truth.ended = true
		}
	}
}

// judgeTaken: a member takes a lock that another member's session renews only after that session has ended
// (rule a-session-ends-once) or has disowned the lock. A session of that name with another uid than the lock
// names is another session (rule owned-through-its-session).
func (w *world) judgeTaken(i, incarnation int) {
	r := w.stored.record
	if r == nil || r.Holder == "" || !r.Bound() || !r.ThroughSession() || r.Holder == identity(i, incarnation) {
		return
	}
	s := w.session(r.Mark.Session)
	if s.record != nil && s.version.UID == r.Mark.SessionUID && s.record.Holder == r.Holder && !s.record.Member.HasDisowned(w.stored.version.UID, r.Mark.Beat) {
		w.violate("%s takes the lock before the session of %s has ended", name(i), r.Holder)
	}
}
