package member

import (
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// We disown a lock that we hold and cannot write: our session says that what we wrote there is nobody's,
// so another member that can write the lock takes it. Our other locks stay ours.

// disowned is a lock that this incarnation disowned.
type disowned struct {
	record.Disowned
	part
	// over: the lock shows another record, so the store cannot carry out a disowned write any more, and our
	// session does not list the lock. If a stranger puts the disowned record back, the session lists it again.
	over bool
}

// disown declares that what we wrote to a lock is nobody's from here on.
func (m *Member) disown(c *contest, d record.Disowned) {
	for other := range m.namesOf(c.lock) {
		if other != c.lock && m.disowned[other].Lock == d.Lock { // the uid says that it is the same object
			delete(m.disowned, other)
		}
	}
	m.disowned[c.lock] = disowned{Disowned: d, part: m.partOf(c)}
	m.untold = append(m.untold, c.lock.name)
}

// disownedNow is what our session lists, in a fixed order.
func (m *Member) disownedNow() []record.Disowned {
	var list []record.Disowned
	for _, d := range m.disowned {
		if !d.over {
			list = append(list, d.Disowned)
		}
	}
	slices.SortFunc(list, func(a, b record.Disowned) int { return strings.Compare(a.Lock, b.Lock) })
	return list
}

// mostTold is how many locks one log line names.
const mostTold = 10

// tendDisowned logs what was disowned just now. It ends the session if listing disowned locks there does
// not suffice: a member of an earlier version would ignore the list, or the list is too long.
func (m *Member) tendDisowned() {
	if n := len(m.untold); n > 0 {
		m.log.Warn(Disowns,
			zap.Int("number", n), zap.Strings("locks", m.untold[:min(n, mostTold)]))
		m.untold = nil
	}
	if m.leaving != "" || m.ending != "" || len(m.disowned) == 0 {
		return
	}
	listed, bytes := 0, 0
	for _, d := range m.disowned {
		if !d.over {
			listed, bytes = listed+1, bytes+len(d.Lock)+disownedBytes
		}
	}
	if listed > 0 && m.view.Older || bytes > maxListed {
		m.log.Warn("cannot release a lock that this member holds; ending the session instead", zap.Bool("membersOfAnEarlierVersion", m.view.Older))
		m.ending = machine.ReasonHeldOn
	}
}

// disownedBytes is the size of a disowned lock in our session, without its uid.
const disownedBytes = 48

// showsDisowned notes whether a disowned lock shows another record than our disowned write.
func (m *Member) showsDisowned(lock lockName, e lock.Entry) {
	for name := range m.namesOf(lock) {
		if d, found := m.disowned[name]; found && (name == lock || e.Version.UID == d.Lock) {
			d.over = !m.isOf(d, e)
			m.disowned[name] = d
		}
	}
}

// isDisowned says whether a lock shows a write of ours that we disowned, whichever store led us to the lock then.
func (m *Member) isDisowned(lock lockName, e lock.Entry) bool {
	for name := range m.namesOf(lock) {
		if d, found := m.disowned[name]; found && m.isOf(d, e) {
			return true
		}
	}
	return false
}

// isOf says whether a lock shows a write of ours that d disowns.
func (m *Member) isOf(d disowned, e lock.Entry) bool {
	return m.keepsThroughSession(e.Record) && record.Disowns([]record.Disowned{d.Disowned}, e.Version.UID, e.Record.Mark.Beat)
}
