package member

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Two stores may lead to the same lock, and a changed election may reach its lock by another store than before. What
// we know of the lock from before must count then. On the other hand, a store may be unable to tell to which objects
// it leads, so two locks that we take for one may be two after all. Hence we keep what we know by the store that led
// us to the lock, and look it up for all stores that may lead there.

// part is when a contest began, and until when what we keep of it was true.
type part struct{ began, until record.Instant }

func (p part) lasted() part { return p }

// unshown is what a contest left of what it knew of its lock, and what the stream has shown since.
type unshown struct {
	machine.Unshown
	part
}

// partOf is the contest's part until now.
func (m *Member) partOf(c *contest) part { return part{c.began, m.now} }

// knows notes a store, for namesOf.
func (m *Member) knows(s Store) {
	if !slices.Contains(m.stores, s) {
		m.stores = append(m.stores, s)
	}
}

// inherit takes over who may be at work, from an earlier incarnation.
func (m *Member) inherit(left map[lockName]unshown) {
	maps.Copy(m.unshown, left)
	names := slices.SortedFunc(maps.Keys(left), func(a, b lockName) int { return cmp.Compare(a.store.ID, b.store.ID) })
	for _, name := range names {
		m.knows(name.store)
	}
}

// namesOf are the names by which we may know the object of a lock, in a fixed order. Its own name comes first.
func (m *Member) namesOf(lock lockName) iter.Seq[lockName] {
	return func(yield func(lockName) bool) {
		if !yield(lock) {
			return
		}
		for _, s := range m.stores {
			if s != lock.store && s.mayShare(lock.store) && !yield(lockName{s, lock.name}) {
				return
			}
		}
	}
}

// contestOf is a contest whose lock may be the named one; nil for none.
func (m *Member) contestOf(lock lockName) *contest {
	for _, s := range m.streams {
		if c := s.byLock[lock.name]; c != nil && s.store.mayShare(lock.store) {
			return c
		}
	}
	return nil
}

// goneOf is what we keep of the election that gave up a lock and used the largest number there.
func (m *Member) goneOf(lock lockName) gone {
	var last gone
	for name := range m.namesOf(lock) {
		if g := m.gone[name]; g.election != nil && (last.election == nil || g.beat > last.beat) {
			last = g
		}
	}
	return last
}

// mayYetTake says whether an election that we gave up may yet take the lock for us.
func (m *Member) mayYetTake(lock lockName) bool {
	for name := range m.namesOf(lock) {
		if m.gone[name].mayYetTake {
			return true
		}
	}
	return false
}

// latestOf is what we kept last of a lock. A contest that began after an earlier one ended has taken over what that
// one left. Of two that went on at once, only that of the very store counts: their locks are two.
func latestOf[V interface{ lasted() part }](m *Member, kept map[lockName]V, lock lockName) V {
	last, found := kept[lock]
	for name := range m.namesOf(lock) {
		one, is := kept[name]
		if is && name != lock && (!found || one.lasted().began >= last.lasted().until) {
			last, found = one, true
		}
	}
	return last
}

// keepUnshown keeps what the lock does not show of a contest that we give up. That covers what the contest took over as it began.
func (m *Member) keepUnshown(c *contest) {
	for name := range m.namesOf(c.lock) {
		if m.unshown[name].until <= c.began {
			delete(m.unshown, name)
		}
	}
	m.unshown[c.lock] = unshown{c.state.Unshown(c.config(), m.now), m.partOf(c)}
}

// showsGivenUp notes what the stream or a list shows of a lock that we gave up: a later contest, or the next incarnation,
// may be shown an earlier term that a stranger put back. It concerns only what the last contest left by the same store.
func (m *Member) showsGivenUp(name lockName, e lock.Entry, by machine.Source) {
	if kept, is := m.unshown[name]; is {
		kept.Unshown = kept.Shown(e.Record, e.Version, by)
		m.unshown[name] = kept
	}
}
