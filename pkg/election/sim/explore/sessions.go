package explore

import (
	"fmt"
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/session"
)

// Where sessions renew the lock, each member has one, of package session, and its part here
// is that of the driver: it carries what the session asks for to the store, and tells the
// machine what the stream shows of sessions.

// life is a member's session, and what it knows of all.
type life struct {
	own *session.Own
	dir *session.Directory
	// view is what the machine was told of the directory last.
	view *machine.View
	// beat is the last one of its own that the stream has shown; told is when that went out
	// of which the machine knows.
	beat machine.BeatSeen
	told record.Instant
	// viewAt and stepAt are when directory and session change by themselves.
	viewAt, stepAt record.Instant
	requests       []request
	// ending: this incarnation gives up, and comes back as another; leftAt is when the session
	// was told to end.
	ending machine.Reason
	leftAt record.Instant
	truth  truth
}

// truth is what the judges know of a session and its member may not.
type truth struct {
	// beatSent is when the newest stored beat went out, shownSent the newest that the stream
	// has shown to its member.
	beatSent, shownSent record.Instant
	ended               bool
}

// request is one of a session: a write, or without one a read.
type request struct {
	name   string
	ask    *session.Write
	phase  phase
	at     int
	sent   record.Instant
	stored stored
}

// kept is a session as it is stored. There is none whose record is nil.
type kept struct {
	name string
	stored
}

func (w *world) throughSessions() bool { return w.x.options.Renewal == record.RenewalSession }

// enroll begins the session of an incarnation.
func (w *world) enroll(i int) {
	m := w.members[i]
	m.dir = session.NewDirectory(group, w.x.options.Timing)
	m.own = session.NewOwn(session.Config{Group: group, Host: name(i), Timing: w.x.options.Timing}, m.dir, published(i, m.incarnation, m.preferred))
	m.view, _ = m.dir.View(w.local(i), m.cfg.Member.Identity)
	w.step(i, machine.DirectoryChanged{View: m.view})
}

// find is where the session of that name is stored, or would be.
func (w *world) find(name string) (at int, exists bool) {
	return slices.BinarySearchFunc(w.sessions, name, func(o kept, name string) int {
		switch {
		case o.name < name:
			return -1
		case o.name > name:
			return 1
		}
		return 0
	})
}

func (w *world) session(name string) stored {
	if at, exists := w.find(name); exists {
		return w.sessions[at].stored
	}
	return stored{}
}

// commitSession makes a record, or nil for its absence, what is stored of a session.
func (w *world) commitSession(name string, r *record.Record) {
	w.revision++
	at, exists := w.find(name)
	o := kept{name: name, stored: stored{record: r, version: record.Version{Revision: w.revision}}}
	switch w.sessions = slices.Clone(w.sessions); {
	case r == nil:
		w.sessions = slices.Delete(w.sessions, at, at+1)
	case exists:
		o.version.UID = w.sessions[at].version.UID
		w.sessions[at] = o
	default:
		w.uids++
		o.version.UID = fmt.Sprintf("u%d", w.uids)
		w.sessions = slices.Insert(w.sessions, at, o)
	}
	w.show(shown{source: machine.Stream, name: name, stored: o.stored, at: w.now})
}

// showAtOnce shows another's beat, that says nothing else, to a member for which nothing else
// waits; false where that is not the case.
func (w *world) showAtOnce(i int, s shown) bool {
	m := w.members[i]
	if w.x.options.Beats != Prompt || s.name == "" || m.stalled || m.paused || len(m.queue) > 0 || s.stored.record == nil {
		return false
	}
	r, name := s.stored.record, m.cfg.Member.Identity
	if r.Holder == "" || r.Holder == name || !slices.ContainsFunc(m.view.Peers, func(p machine.Peer) bool { return p.Identity == r.Holder && p.Equal(r.Member) }) {
		return false
	}
	w.edit(i)
	w.sessionShown(i, s)
	return true
}

// putSession carries out a write of a session, if its condition holds.
func (w *world) putSession(i, incarnation int, sent record.Instant, a *session.Write) bool {
	before := w.session(a.Name)
	if a.If != before.version {
		return false
	}
	w.judgeSession(i, incarnation, sent, before.record, &a.Record)
	r := a.Record
	w.commitSession(a.Name, &r)
	return true
}

// sessionShown takes in what the stream shows of one session.
func (w *world) sessionShown(i int, s shown) {
	m := w.members[i]
	m.dir.Observe(w.local(i), s.name, s.stored.record, s.stored.version)
	w.sawBeat(i, s.name, s.stored)
	w.directoryChanged(i)
}

// listed takes in a consistent list. The sessions come first, for whose the lock is may
// follow from them; beats last, for they are worth what was shown before.
func (w *world) listed(i int, s shown) {
	m, now := w.members[i], w.local(i)
	var all []session.Shown
	for _, o := range s.sessions {
		all = append(all, session.Shown{Name: o.name, Record: o.record, Version: o.version})
	}
	if !m.dir.List(now, s.sent, s.revision, all) {
		w.violate("%s takes the store for a restored one", name(i))
	}
	m.view, m.viewAt = m.dir.View(now, m.cfg.Member.Identity)
	w.step(i, machine.Observed{Source: s.source, Record: s.stored.record, Version: s.stored.version, Sent: s.sent, View: m.view})
	for _, o := range s.sessions {
		w.sawBeat(i, o.name, o.stored)
	}
	w.directoryChanged(i)
}

// sawBeat tells the machine of a beat of its session that the stream shows, if it has a use
// for that now; else before its next event.
func (w *world) sawBeat(i int, name string, s stored) {
	m := w.members[i]
	seen, ours := m.own.Seen(w.local(i), name, s.record, s.version)
	if !ours || seen.Sent <= m.beat.Sent {
		return
	}
	m.beat = seen
	if m.state.NeedsBeats() {
		w.step(i, seen)
	}
}

// directoryChanged draws the consequences of what was learned about sessions, or of time.
func (w *world) directoryChanged(i int) {
	w.tendView(i)
	w.stepSession(i)
}

func (w *world) tendView(i int) {
	m := w.members[i]
	view, changes := m.dir.View(w.local(i), m.cfg.Member.Identity)
	m.viewAt = changes
	if view != m.view {
		m.view = view
		w.step(i, machine.DirectoryChanged{View: view})
	}
}

// stepSession lets the session do what is due.
func (w *world) stepSession(i int) {
	m, now := w.members[i], w.local(i)
	actions, next := m.own.Step(now)
	m.stepAt = next
	for _, action := range actions {
		q := request{phase: sent, at: w.now, sent: now}
		if m.cut {
			q.phase = lost
		}
		switch a := action.(type) {
		case session.Write:
			q.name, q.ask = a.Name, &a
			w.trace.note("-> %s", saysSession(a.Name, &a.Record))
		case session.Read:
			q.name = a.Name
			w.trace.note("-> read %s", a.Name)
		}
		m.requests = append(slices.Clip(m.requests), q)
	}
	if why, is := m.own.Lost(); is && m.ending == "" && !m.resigned {
		w.trace.note("lost: %s", why)
		m.ending = machine.ReasonSession
	}
}

// requestArrives: the store acts on the n-th request of a session.
func (w *world) requestArrives(i, n int) {
	m := w.members[i]
	m.requests = slices.Clone(m.requests)
	q := &m.requests[n]
	switch {
	case q.ask == nil:
		q.phase, q.stored = committed, w.session(q.name)
	case w.putSession(i, m.incarnation, q.sent, q.ask):
		q.phase, q.stored = committed, w.session(q.name)
	default:
		q.phase = rejected
	}
	w.forget()
	if w.x.options.Beats == Prompt && m.running() && !m.cut {
		w.requestAnswered(i, n)
	}
}

// requestAnswered: the member hears of the n-th request of its session.
func (w *world) requestAnswered(i, n int) {
	m, now := w.members[i], w.local(i)
	q := m.requests[n]
	m.requests = slices.Delete(slices.Clone(m.requests), n, n+1)
	switch {
	case q.ask == nil && q.phase == lost:
		m.own.ReadFailed(now, q.name)
	case q.ask == nil:
		if !m.dir.Read(now, q.sent, q.name, q.stored.record, q.stored.version) {
			w.violate("%s takes the store for a restored one", name(i))
		}
		m.own.ReadDone(q.name)
	default:
		if q.phase == committed {
			m.dir.Observe(now, q.name, q.stored.record, q.stored.version)
		}
		if q.ask.Beat != 0 {
			m.own.WriteDone(now, q.ask.Beat, outcomes[q.phase], q.stored.version)
		}
	}
	w.directoryChanged(i)
}

// blind says whether the member holds the lock through a session whose beats it has not
// seen for so long that others would have taken it, had they not been stored.
func (w *world) blind(i int) bool {
	m := w.members[i]
	return m.ending == "" && !m.resigned && m.beat.Sent != 0 && w.local(i) >= m.beat.Sent.Add(2*m.cfg.Timing.LeaseDuration) &&
		m.state.Lock.Owner == machine.Mine && m.state.Lock.Record.ThroughSession()
}

// mayLeave says whether something is to be done about leaving: the session must be told to
// end, has ended, or did not end in time.
func (w *world) mayLeave(i int) bool {
	m := w.members[i]
	if !m.resigned || !m.state.Settled(*m.cfg, w.local(i)) || m.work.asked {
		return false
	}
	return m.own == nil || m.leftAt == 0 || m.own.Over() || w.local(i) >= m.leftAt.Add(m.cfg.Timing.LeaseDuration)
}

// leave goes on with leaving.
func (w *world) leave(i int) {
	m := w.members[i]
	switch {
	case m.own != nil && m.leftAt == 0:
		m.leftAt = w.local(i)
		m.own.Leave()
		w.stepSession(i)
		if !m.own.Over() {
			return
		}
	}
	switch {
	case m.own != nil && m.ending != "":
		cut, next := m.cut, m.incarnation+1
		w.depart(i)
		w.edit(i).cut = cut
		w.join(i, next)
		return
	}
	w.depart(i)
	w.edit(i).left = true
}

// giveUp has a member resign whose session has ended, or must end.
func (w *world) giveUp(i int) {
	if m := w.members[i]; m.own != nil && m.ending != "" && !m.resigned && w.wrong == "" {
		w.edit(i).resigned = true
		w.step(i, machine.Resign{Reason: m.ending})
	}
}

func saysSession(name string, r *record.Record) string {
	if r == nil {
		return name + " absent"
	}
	text := fmt.Sprintf("%s holder %q", name, r.Holder)
	if r.Mark != nil {
		text += fmt.Sprintf(", beat %d", r.Mark.Beat)
	}
	return text
}
