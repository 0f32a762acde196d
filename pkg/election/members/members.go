// Package members works out, from the sessions of a group, which members live, which one leads, and which
// members lost terms that they did not give up. It is for programs that observe elections without taking
// part; members themselves know more.
package members

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// SessionName returns the name of the first session of a host or Pod.
func SessionName(group, host string) string { return session.SlotName(group, host, 0) }

// Directory knows the sessions of a group, from what a watch showed of them. It starts no goroutine.
// Only one goroutine may use it.
type Directory struct{ sessions *session.Directory }

// New makes a Directory that has seen no session. timing is that of the group's members.
func New(group string, timing record.Timing) *Directory {
	return &Directory{session.NewDirectory(group, timing)}
}

// Observe notes what the watch showed at the given instant. It returns false if the entry is no session
// of the group.
func (d *Directory) Observe(at record.Instant, entry lock.Entry) bool {
	if !d.sessions.Owns(entry.Name) {
		return false
	}
	d.sessions.Observe(at, entry.Name, entry.Record, entry.Version)
	return true
}

// Living returns the members that live at the given instant.
func (d *Directory) Living(at record.Instant) Living {
	view, changes := d.sessions.View(at, "")
	l := Living{Changes: changes, sessions: view.Sessions}
	for _, p := range view.Peers {
		l.Members = append(l.Members, p.Member)
	}
	return l
}

// ProvenAt returns when the probation of a member ends or has ended; zero if it never fell. Holders move no lock to it before. They may
// have watched it for longer than this Directory, and then do so earlier.
func (d *Directory) ProvenAt(identity string) record.Instant { return d.sessions.ProvenAt(identity) }

// Lost returns the times at which, according to a lock's history, members of the revision lost the lock
// without giving it up. The earliest comes first.
func (d *Directory) Lost(history []record.Entry, revision string) (lost []time.Time) {
	for _, l := range machine.Losses(history) {
		if d.sessions.MemberRevision(l.Who) == revision && !(l.Orphaned && d.sessions.Left(l.Who)) {
			lost = append(lost, l.When)
		}
	}
	return lost
}

// Failed returns the identities of those members whose last term of an election ended because their work had failed, and which still
// stand down. A member that says why it is not ready is not among them. The history is that of the election's lock.
func Failed(living []record.Member, election string, history []record.Entry) (identities []string) {
	for _, m := range living {
		unready := slices.ContainsFunc(m.Lacks, func(l record.Lack) bool { return l.Election == election })
		if !unready && !m.StandsFor(election) && machine.FailedIn(history, m.Identity) {
			identities = append(identities, m.Identity)
		}
	}
	return identities
}

// Living are the members of a group that live.
type Living struct {
	Members []record.Member
	// Changes is when the list changes merely because time passes, if the watch shows nothing more; zero for
	// never.
	Changes record.Instant

	sessions map[string]machine.Session
}

// Member returns the member with the given identity; nil if it does not live.
func (l Living) Member(identity string) *record.Member {
	for i := range l.Members {
		if l.Members[i].Identity == identity {
			return &l.Members[i]
		}
	}
	return nil
}

// Lead says whether a living member holds the lock, and is at work.
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
