package member

import (
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// A lock that this member holds and cannot write is disowned: our session says that what we wrote
// there is nobody's, and whoever can write the lock takes it. Nothing else of ours is touched.

// disowned is a lock that this incarnation disowned.
type disowned struct {
	record.Disowned
	// over: the lock has been seen to show something else since, so no write that was disowned
	// can be stored any more, and our session lists it no longer.
	over bool
}

// disown takes in that what we wrote to a lock is nobody's from here on.
func (m *Member) disown(lock lockName, d record.Disowned) {
	m.disowned[lock] = disowned{Disowned: d}
	m.untold = append(m.untold, lock.name)
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

// mostTold is how many locks one line of the log names.
const mostTold = 10

// tendDisowned tells what was disowned just now. It ends the session where it cannot say what was
// disowned: a member of an earlier version would not heed it, or it is too much to be listed.
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
		m.log.Warn("a lock that this member holds cannot be released; its session ends instead", zap.Bool("membersOfAnEarlierVersion", m.view.Older))
		m.ending = machine.ReasonHeldOn
	}
}

// disownedBytes is what a lock that was disowned takes in our session, beside its uid.
const disownedBytes = 48

// showsDisowned takes in what is stored of a lock now.
func (m *Member) showsDisowned(lock lockName, e lock.Entry) {
	d, found := m.disowned[lock]
	if found && !d.over && !m.isDisowned(lock, e) {
		d.over = true
		m.disowned[lock] = d
	}
}

// isDisowned says whether a lock shows a write of ours that we disowned.
func (m *Member) isDisowned(lock lockName, e lock.Entry) bool {
	d, rec := m.disowned[lock], e.Record
	return rec != nil && rec.Holder == m.identity && rec.Bound() && rec.ThroughSession() &&
		record.Disowns([]record.Disowned{d.Disowned}, e.Version.UID, rec.Mark.Beat)
}
