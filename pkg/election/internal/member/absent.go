package member

import (
	"maps"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// A stream of a whole store shows all locks, those of our elections or not. So when an election is added, the
// stream may have shown for long that its lock is absent, and we need neither a list nor a wait (rule
// absence-counts).

// absences is what a stream of a whole store showed since its last list: which locks certainly were not there.
type absences struct {
	// since is when the list came; zero if there is none, or if we do not know what it showed. revision is the
	// list's revision.
	since    record.Instant
	revision uint64
	// locks are the names of all objects that were there at any time, except for the locks of our present
	// elections and the sessions of our group. elections are the elections that those objects name, and those that
	// we gave up, wherever their locks are.
	locks, elections map[string]struct{}
}

// mostAbsences bounds the memory of names. Whoever shares a namespace with more objects waits for new locks.
const mostAbsences = 1 << 14

// listed begins anew with a list: between it and what the stream showed before, anything may have come and
// gone.
func (a *absences) listed(now record.Instant, revision uint64) {
	*a = absences{since: now, revision: revision, locks: map[string]struct{}{}, elections: map[string]struct{}{}}
}

// notes remembers a name that a lock has, or had, and its election; empty if there is none.
func (a *absences) notes(lock, election string) {
	if a.since == 0 {
		return
	}
	a.locks[lock] = struct{}{}
	if election != "" {
		a.elections[election] = struct{}{}
	}
	a.bound()
}

// bound forgets everything once there are too many names.
func (a *absences) bound() {
	if max(len(a.locks), len(a.elections)) > mostAbsences {
		*a = absences{}
	}
}

// gaveUp remembers an election that we gave up, and whose lock is in another store.
func (a *absences) gaveUp(election string) {
	if a.since == 0 {
		return
	}
	a.elections[election] = struct{}{}
	a.bound()
}

func (a *absences) clone() absences {
	to := *a
	to.locks, to.elections = maps.Clone(a.locks), maps.Clone(a.elections)
	return to
}

// notesAbsence remembers that the stream showed an object, or its deletion.
func (m *Member) notesAbsence(s *stream, e lock.Entry) {
	switch {
	case s.names != nil, s.byLock[e.Name] != nil, m.carriesSessions(s) && m.dir.Owns(e.Name):
		return
	case e.Record == nil:
		s.absences.notes(e.Name, "")
	default:
		s.absences.notes(e.Name, e.Record.Election)
	}
}

// absentSince is since when the stream has shown that the lock of an added election is absent; false if it
// has not. If the election had another lock, members may still hold that one, and only a wait gives them time
// to learn of this one, unless the election migrates: then its old lock keeps them out.
func (s *stream) absentSince(c *contest) (record.Instant, bool) {
	a := &s.absences
	if s.watch == 0 || s.names != nil || s.listing || s.restart || s.cut || a.since == 0 {
		return 0, false
	}
	_, was := a.locks[c.lock.name]
	_, moved := a.elections[c.name()]
	return a.since, !was && (!moved || c.outer != nil)
}

// showAbsent shows the contest that its lock is absent, if the stream has shown that. It takes part from here
// on as if it had done so, and had taken nothing, since the stream's last list.
func (m *Member) showAbsent(s *stream, c *contest) (shown bool) {
	since, absent := s.absentSince(c)
	if !absent {
		return false
	}
	c.listed = true
	m.handle(c, machine.Observed{
		Source: machine.List, Version: record.Version{Revision: s.absences.revision}, Sent: s.listSent, AbsentSince: since, Jitter: m.jitter(),
	})
	return true
}
