package explore

import (
	"slices"
	"strings"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// commit stores a record of the lock, or nil for its absence, and has streams show it.
func (w *world) commit(r *record.Record) {
	before := w.stored
	w.revision++
	w.revisions = append(slices.Clip(w.revisions), w.revision)
	v := record.Version{Revision: w.revision}
	if r != nil {
		v.UID = before.version.UID
		if before.record == nil {
			v.UID = w.newUID(election)
		}
	}
	w.stored = stored{record: r, version: v}
	w.show(shown{kind: lock.Changed, stored: w.stored, at: w.now})
}

// newUID is a uid that the named object has not had yet. It has two letters: the first names the object, the
// second counts the object's uids.
func (w *world) newUID(name string) string {
	letter := letterOf(name)
	w.uids[letter]++
	return string([]byte{'A' + letter, '0' + w.uids[letter]})
}

// letters is the number of objects: the lock, and the slots of each member's sessions.
const (
	letters = 1 + 3*slots
	slots   = 4
)

func letterOf(object string) uint8 {
	if object == election {
		return 0
	}
	at := strings.LastIndexByte(object, '-')
	letter := 1 + (object[at-1]-'1')*slots + object[at+1] - '0'
	if letter >= letters {
		panic("explore: too many sessions: " + object)
	}
	return letter
}

// find is the place where the session of the given name is stored, or would be.
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

// commitSession stores a record of a session, or nil for its absence.
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
		o.version.UID = w.newUID(name)
		w.sessions = slices.Insert(w.sessions, at, o)
	}
	w.show(shown{kind: lock.Changed, name: name, stored: o.stored, at: w.now})
}

// show has all streams show a change.
func (w *world) show(s shown) {
	store := int(member.Own.ID)
	if s.name == "" {
		store = int(w.x.election.Locks.ID)
	}
	for i, m := range w.procs {
		switch {
		case m.dead || m.left || m.cut || m.streams[store].watch == 0 || m.streams[store].broken():
		case m.streams[store].lags(), w.x.options.Beats == Quiet && s.name != "" && !m.running():
			w.breaks(i, store)
		default:
			to := &w.edit(i).streams[store]
			to.queue = append(slices.Clip(to.queue), s)
			if w.saysNothingElse(w.procs[i], s) {
				w.streamShows(i, store)
			}
		}
	}
}

// broken says whether the process has yet to notice that the stream broke.
func (s *stream) broken() bool { return len(s.queue) > 0 && s.queue[0].kind == lock.Broken }

// lags says whether a stream is so far behind that the server breaks it.
func (s *stream) lags() bool {
	locks := 0
	for _, one := range s.queue {
		if one.name == "" {
			locks++
		}
	}
	return locks >= mostOfLock || len(s.queue) >= mostQueued
}

// saysNothingElse says whether a Prompt beat is shown to m at once: it says nothing new, and nothing else
// waits.
func (w *world) saysNothingElse(m *proc, s shown) bool {
	from := &m.streams[member.Own.ID]
	if w.x.options.Beats != Prompt || s.name == "" || from.stalled || !m.running() || len(from.queue) > 1 || s.stored.record == nil {
		return false
	}
	r := s.stored.record
	return r.Holder != "" && slices.ContainsFunc(m.member.View().Peers, func(p machine.Peer) bool { return p.Identity == r.Holder && p.Equal(r.Member) })
}

// version is the version of an object; zero if there is none.
func (w *world) version(name string) record.Version {
	switch {
	case name != election:
		return w.session(name).version
	case w.stored.record == nil:
		return record.Version{}
	}
	return w.stored.version
}

// put carries out a write if its condition holds.
func (w *world) put(i, incarnation int, q *request) bool {
	if q.replaces != w.version(q.name) {
		return false
	}
	if q.ofLock() {
		w.judgeStored(i, incarnation, q)
		w.commit(q.write)
		return true
	}
	w.judgeSession(i, incarnation, q.sent, w.session(q.name).record, q.write)
	w.commitSession(q.name, q.write)
	return true
}

// read is what a read of an object shows.
func (w *world) read(name string) stored {
	switch {
	case name != election:
		return w.session(name)
	case w.stored.record == nil:
		return stored{}
	}
	return w.stored
}

// requestArrives has the store act on the n-th request.
func (w *world) requestArrives(i, n int) {
	m := w.edit(i)
	m.requests = slices.Clone(m.requests)
	q := m.requests[n]
	switch {
	case q.write == nil, w.put(i, m.incarnation, &q):
		q.phase, q.stored = committed, w.read(q.name)
	default:
		q.phase = rejected
	}
	m.requests[n] = q
	w.forget()
	if !q.ofLock() && w.x.options.Beats != Loose && m.running() && !m.cut {
		w.requestAnswered(i, n)
	}
}

// requestAnswered tells the member the answer to its n-th request, or that it timed out.
func (w *world) requestAnswered(i, n int) {
	m := w.edit(i)
	q := m.requests[n]
	m.requests = slices.Delete(slices.Clone(m.requests), n, n+1)
	in := member.Answered{Request: q.id, Err: answers[q.phase]}
	if in.Err == nil {
		in.Entry = lock.Entry{Name: q.name, Record: q.stored.record, Version: q.stored.version}
		if q.write != nil {
			in.Entry.Record = nil
		}
	}
	w.step(i, in)
}

var answers = map[phase]error{rejected: lock.ErrConflict, refused: lock.ErrDenied, lost: lock.ErrUnknown}

// settleBeats carries out the sessions' requests at once, if beats are Quiet, and shows the changes to
// all members that are not cut off or stopped.
func (w *world) settleBeats() {
	for more := w.x.options.Beats == Quiet; more && w.wrong == ""; {
		more = false
		for i, m := range w.procs {
			if m.running() && m.onlyBeats(w.local(i)) {
				w.step(i)
				more = true
			}
			m = w.procs[i]
			if n := slices.IndexFunc(m.requests, func(q request) bool { return !q.ofLock() && q.phase == sent && (q.write != nil || m.running()) }); n >= 0 && !m.dead {
				w.requestArrives(i, n)
				more = true
			}
		}
		for i, m := range w.procs {
			if m.running() && !m.cut && len(m.streams[member.Own.ID].queue) > 0 {
				w.streamShows(i, int(member.Own.ID))
				more = true
			}
		}
	}
}

// onlyBeats says whether the member wants to be woken up by now for its session only.
func (m *proc) onlyBeats(now record.Instant) bool {
	d := look(m.member)
	if at := d.instant("sessionNext"); at == 0 || at > now {
		return false
	}
	timers := d.get("timers").v
	return timers.Len() == 0 || inside(timers.Index(0).Elem()).instant("wakeAt") > now
}

// may says whether the store may ever carry out a write.
func (w *world) may(s stray) bool {
	fault, exists := DeleteSession, !w.version(s.name).IsZero()
	if s.ofLock() {
		fault = Delete
	}
	if s.replaces.IsZero() {
		return !exists || w.budget > 0 && slices.Contains(w.x.options.Faults, fault)
	}
	return exists && s.replaces == w.version(s.name)
}

// arrives says whether the store would carry out a stray now.
func (w *world) arrives(s stray) bool { return s.replaces == w.version(s.name) }

// forget drops strays that can never be carried out.
func (w *world) forget() {
	if !slices.ContainsFunc(w.strays, func(s stray) bool { return !w.may(s) }) {
		return
	}
	var still []stray
	for _, s := range w.strays {
		if w.may(s) {
			still = append(still, s)
		} else {
			w.doom(s)
		}
	}
	w.strays = still
}

// strand makes a stray of the n-th request, if that request is a write under way.
func (w *world) strand(i, n int) {
	m := w.edit(i)
	q := m.requests[n]
	if q.phase != sent || q.write == nil {
		return
	}
	w.strays = append(slices.Clip(w.strays), stray{proc: i, incarnation: m.incarnation, request: q})
	if q.ofLock() {
		m.live = append(slices.Clip(m.live), q.beat)
	}
}

// doom notes that a stray will never be stored.
func (w *world) doom(s stray) {
	m := w.procs[s.proc]
	if !s.ofLock() || m.incarnation != s.incarnation {
		return
	}
	m = w.edit(s.proc)
	m.live = slices.DeleteFunc(slices.Clone(m.live), func(b uint64) bool { return b == s.beat })
}
