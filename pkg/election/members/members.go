// Package members says from the sessions of a group who lives, who leads, and whose terms ended
// although their holder did not want that. It is for programs that look on and take no part in
// an election; members themselves know more.
package members

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// SessionName is the name of the first session of a host or Pod.
func SessionName(group, host string) string { return session.SlotName(group, host, 0) }

// Directory knows the sessions of a group, by what a watch showed of them. It starts no goroutine, and
// belongs to the one that calls it.
type Directory struct{ sessions *session.Directory }

// New makes a Directory that has seen nothing. timing is that of the group's members.
func New(group string, timing record.Timing) *Directory {
	return &Directory{session.NewDirectory(group, timing)}
}

// Observe takes in what the watch showed at that instant. It returns false for what is no session of
// the group.
func (d *Directory) Observe(at record.Instant, entry lock.Entry) bool {
	if !d.sessions.Owns(entry.Name) {
		return false
	}
	d.sessions.Observe(at, entry.Name, entry.Record, entry.Version)
	return true
}

// Living are the members that live at that instant.
func (d *Directory) Living(at record.Instant) Living {
	view, changes := d.sessions.View(at, "")
	l := Living{Changes: changes, sessions: view.Sessions}
	for _, p := range view.Peers {
		l.Members = append(l.Members, p.Member)
	}
	return l
}

// Lost are the times at which members of the revision lost a lock although they did not want that, by
// the lock's history. The earliest comes first.
func (d *Directory) Lost(history []record.Entry, revision string) (lost []time.Time) {
	for _, l := range machine.Losses(history) {
		if d.sessions.MemberRevision(l.Who) == revision && !(l.Orphaned && d.sessions.Left(l.Who)) {
			lost = append(lost, l.When)
		}
	}
	return lost
}

// Living are the members of a group that live.
type Living struct {
	Members []record.Member
	// Changes is when they are others although nothing more is shown; zero for never.
	Changes record.Instant

	sessions map[string]machine.Session
}

// Member is the one with that identity; nil if none lives.
func (l Living) Member(identity string) *record.Member {
	for i := range l.Members {
		if l.Members[i].Identity == identity {
			return &l.Members[i]
		}
	}
	return nil
}

// Lead says whether one of them holds the lock, and is at work.
func (l Living) Lead(entry lock.Entry) bool {
	r := entry.Record
	if r == nil || r.Holder == "" || !r.Bound() || r.Claim != nil {
		return false
	}
	if r.ThroughSession() {
		s := l.sessions[r.Mark.Session]
		if s.UID != r.Mark.SessionUID || s.Holder != r.Holder || s.Ended || record.Disowns(s.Disowned, entry.Version.UID, r.Mark.Beat) {
			return false
		}
	}
	return l.Member(r.Holder) != nil
}
