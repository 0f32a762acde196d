package sim

import (
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// contest is a member's part in one election, as the judge keeps it: its work, and what the store
// knows of it.
type contest struct {
	i        *incarnation
	election int
	name     string
	id       member.ID
	// removed: the election is no longer configured.
	removed bool
	// stage is which locks it knows, name that of its own, and outer is what the judge keeps of the
	// one that it moves from; nil for none.
	stage stage
	outer *contest

	work *work // of the present or last term
	// committedToken is the token of its newest take or renewal, committedSent when that was
	// sent, and takenToken the token of its newest take.
	committedToken record.Token
	takenToken     record.Token
	takenRevision  uint64
	firstSeen      uint64 // the first revision of the lock that it was shown
	// undisturbed: since then the store has told of nothing else.
	undisturbed   bool
	committedSent record.Instant
	// takenThroughSession: its newest take is renewed by its session.
	takenThroughSession bool
	// askedAt is when the first request for its lock went out since a write had a definite answer; zero for none.
	askedAt record.Instant
	// storedBeat is the highest beat of its own that the store has seen.
	storedBeat uint64
	pace       pace
	// passedOver: it has passed over a nominee, who may be worth no move for long.
	passedOver bool
	// betterSince is since when, at least, it has known somebody worth a move.
	betterSince record.Instant
	// betterBefore is betterSince before the present step.
	betterBefore record.Instant
	// judgedBy is from what it was last found whether it knows somebody worth a move.
	judgedBy struct {
		view   *machine.View
		seen   *preference
		better bool
	}
	// lacks: a list that the member takes in right now shows that the lock is not its own any more.
	lacks bool
	// preferred is what it knew of the preference.
	preferred record.Preferred
}

func (i *incarnation) newContest(e int) *contest {
	h := i.p.h
	h.ids++
	m := &contest{i: i, election: e, name: h.w.elections[e], id: h.ids}
	i.contests[e] = m
	return m
}

// spec is the election as the member is told of it.
func (m *contest) spec() *member.Election {
	h, e := m.i.p.h, m.election
	s := &member.Election{
		ID: m.id, Name: h.w.elections[e], Works: true, Unready: !h.ready, Before: h.terms[e],
		Settings: &member.Settings{
			Timing: h.timing, Policy: h.policy, Bootstrap: h.w.bootstrap[e], Foreign: h.w.foreign[e], Renewal: h.renewal[e], Outage: h.w.outages[e],
		},
	}
	m.give(s)
	return s
}

// state is that of its machine; nil once it was forgotten.
func (m *contest) state() *machine.State { return m.i.member.State(m.id) }

// leads says whether its machine does.
func (m *contest) leads() bool {
	s := m.state()
	return s != nil && s.Role == machine.Leading
}

func (m *contest) timing() record.Timing { return m.i.p.h.timing }

// shown: a revision of the lock is.
func (m *contest) shown(revision uint64) {
	if m.firstSeen == 0 {
		m.firstSeen = revision
	}
}

// listed takes in how a list shows the lock.
func (m *contest) listed(e lock.Entry) {
	m.shown(e.Version.Revision)
	s := m.state()
	m.lacks = s != nil && e.Version.Revision > s.Lock.Version.Revision &&
		(e.Record == nil || !e.Record.Bound() || e.Record.Holder != m.i.identity)
}

// stored: a write of the machine was committed just now.
func (m *contest) stored(q *request) {
	m.i.p.h.w.judge.stored(m, q)
	if q.purpose == machine.Claim || q.purpose == machine.Take || q.purpose == machine.Renew {
		if q.entry.Record.Token != m.committedToken {
			m.committedToken, m.committedSent = q.entry.Record.Token, q.sent
		}
		m.committedSent = max(m.committedSent, q.sent)
	}
}

// needs says whether its work needs the lock.
func (m *contest) needs(lock string) bool {
	return m.name == lock || m.outer != nil && m.outer.name == lock
}

// of is the name of its election.
func (m *contest) of() string { return m.i.p.h.w.elections[m.election] }
