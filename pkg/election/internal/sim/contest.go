package sim

import (
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// contest is a member's part in one election, as the judge keeps it: its work, and what the store knows
// about it.
type contest struct {
	i        *incarnation
	election int
	name     string
	id       member.ID
	// settings are those that the member was given.
	settings *member.Settings
	// removed says that the election is no longer configured.
	removed bool
	// stage says which locks the member knows. name is that of the contest's own lock. outer is the judge's
	// contest for the lock that the election moves from; nil if there is none.
	stage stage
	outer *contest

	work *work // of the present or last term
	// committedToken is the token of the member's newest take or renewal, and committedSent when that write was
	// sent. takenToken is the token of its newest take.
	committedToken record.Token
	takenToken     record.Token
	takenRevision  uint64
	firstSeen      uint64 // the first revision of the lock that the member was shown
	// undisturbed: since the member's newest take no write has contradicted its term.
	undisturbed   bool
	committedSent record.Instant
	// takenThroughSession: the member's session renews the term of its newest take.
	takenThroughSession bool
	// askedAt is when the member sent its first request for the lock after the last write with a definite
	// answer; zero for never.
	askedAt record.Instant
	// saidNo: the last definite answer to a write of the lock was a refusal or a conflict.
	saidNo bool
	pace   pace
	// passedOver: the member has passed over a nominee. For long after, it may refuse to hand that nominee the
	// lock.
	passedOver bool
	// betterSince is when the member was first found to know another worth handing the lock to; zero if it
	// knows none.
	betterSince record.Instant
	// betterBefore is betterSince before the present step, and viewBefore the directory before it.
	betterBefore record.Instant
	viewBefore   *machine.View
	// judgedBy holds the last answer of better, and the view and preference that it was derived from.
	judgedBy struct {
		view   *machine.View
		seen   *preference
		better bool
	}
	// lacks: the member is taking in a list that shows another owner of the lock, or none.
	lacks bool
	// preferred is the preference that the member knew last, and turnedAt is when its revision last changed.
	preferred record.Preferred
	turnedAt  record.Instant
}

func (i *incarnation) newContest(e int) *contest {
	h := i.p.h
	h.ids++
	m := &contest{i: i, election: e, name: h.w.elections[e], id: h.ids}
	i.contests[e] = m
	return m
}

// spec is the election as the member gets it.
func (m *contest) spec() *member.Election {
	h, e := m.i.p.h, m.election
	s := &member.Election{
		ID: m.id, Name: h.w.elections[e], Works: true, Unready: !h.ready, Before: int32(h.terms[e]), // #nosec G115 -- a count of terms
		Settings: h.settings(e),
	}
	m.settings = s.Settings
	m.give(s)
	return s
}

// state is that of the member's machine; nil once the member forgot the election.
func (m *contest) state() *machine.State { return m.i.member.State(m.id) }

// leads says whether the member's machine leads.
func (m *contest) leads() bool {
	s := m.state()
	return s != nil && s.Role == machine.Leading
}

func (m *contest) timing() record.Timing { return m.settings.Timing }

// shown records that the member saw the lock.
func (m *contest) shown(e lock.Entry) {
	if m.firstSeen == 0 {
		m.firstSeen = e.Version.Revision
	}
	r := e.Record
	if r == nil {
		return
	}
	m.i.p.h.w.shownHolder(m, e)
	if m.i.p.h.w.options.Class == PutBack {
		if m.i.p.shownTerms == nil {
			m.i.p.shownTerms = map[shownTerm]bool{}
		}
		m.i.p.shownTerms[shownTerm{m.name, r.Holder, r.Token}] = true
	}
}

// listed records how a list shows the lock.
func (m *contest) listed(e lock.Entry) {
	m.shown(e)
	s := m.state()
	m.lacks = s != nil && e.Version.Revision > s.Lock.Version.Revision &&
		(e.Record == nil || !e.Record.Bound() || e.Record.Holder != m.i.identity)
}

// stored is called when a write of the machine was just committed.
func (m *contest) stored(q *request) {
	if mark := q.record.Mark; m.i.p.h.w.judge.restored() && mark != nil && mark.Beat < m.i.storedBeats[m.name] {
		return // a late write that fits the restored store by chance says nothing about the newer one
	}
	m.i.p.h.w.judge.stored(m, q)
	if q.purpose == machine.Claim || q.purpose == machine.Take || q.purpose == machine.Renew {
		if q.entry.Record.Token != m.committedToken {
			m.committedToken, m.committedSent = q.entry.Record.Token, q.sent
		}
		m.committedSent = max(m.committedSent, q.sent)
	}
}

// needs says whether the contest's work needs the given lock.
func (m *contest) needs(lock string) bool {
	return m.name == lock || m.outer != nil && m.outer.name == lock
}

// of is the name of the contest's election.
func (m *contest) of() string { return m.i.p.h.w.elections[m.election] }
