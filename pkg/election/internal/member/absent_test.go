package member

import (
	"fmt"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestAbsences checks from which sights a member concludes that the lock of an added election has been absent
// since the last list (rule absence-counts).
func TestAbsences(t *testing.T) {
	entry := func(name string, r *record.Record) lock.Entry {
		return lock.Entry{Name: name, Record: r, Version: record.Version{UID: "u", Revision: 9}}
	}
	of := func(election string) *record.Record { return &record.Record{Election: election} }
	for _, c := range []struct {
		what string
		// first is in the first list, which comes at 10; then comes what do does.
		first []lock.Entry
		do    func(m *Member, s *stream)
		want  record.Instant // zero if the lock's absence is not known
	}{
		{what: "nothing else", want: 10},
		{what: "other locks", first: []lock.Entry{entry("b", of("b"))}, want: 10},
		{what: "the lock was listed, and deleted", first: []lock.Entry{entry("a", of("z"))}, do: func(m *Member, s *stream) {
			m.shown(s, entry("a", nil), machine.Stream)
		}},
		{what: "the lock was made and deleted", do: func(m *Member, s *stream) {
			m.shown(s, entry("a", &record.Record{}), machine.Stream)
			m.shown(s, entry("a", nil), machine.Stream)
		}},
		{what: "only its deletion was shown", do: func(m *Member, s *stream) { m.shown(s, entry("a", nil), machine.Stream) }},
		{what: "the election has another lock", first: []lock.Entry{entry("b", of("a"))}},
		{what: "another list", first: []lock.Entry{entry("a", of("a"))}, do: func(m *Member, s *stream) {
			m.now = 20
			m.watched(s, lock.Event{Kind: lock.Listing}, 20)
			m.watched(s, lock.Event{Kind: lock.Listed, Revision: 12}, 20)
		}, want: 20},
		{what: "a list that has not come yet", do: func(m *Member, s *stream) { m.watched(s, lock.Event{Kind: lock.Listing}, 20) }},
		{what: "a break", do: func(m *Member, s *stream) { m.watched(s, lock.Event{Kind: lock.Broken}, 20) }},
		{what: "a break that is over", do: func(m *Member, s *stream) {
			m.watched(s, lock.Event{Kind: lock.Broken}, 20)
			m.watched(s, lock.Event{Kind: lock.Resumed}, 20)
		}, want: 10},
		{what: "a watch that is being begun anew", do: func(m *Member, s *stream) { m.begin(s) }},
		{what: "a watch that has ended", do: func(_ *Member, s *stream) { s.watch = 0 }},
		{what: "a watch of names", do: func(_ *Member, s *stream) { s.names = []string{"a"} }},
		{what: "too many names", do: func(m *Member, s *stream) {
			for n := range mostAbsences + 1 {
				m.shown(s, entry(fmt.Sprintf("x%d", n), nil), machine.Stream)
			}
		}},
		{what: "the election was given up", do: func(m *Member, s *stream) {
			e := &Election{ID: 7, Name: "a", Lock: "a", Settings: &Settings{}}
			was := newContest(m, e, e.lockName())
			s.byLock["a"] = was
			m.drop(was)
		}},
		{what: "the election had a lock in another store", do: func(m *Member, _ *stream) {
			e := &Election{ID: 7, Name: "a", Lock: "b", Locks: Store{ID: 1, ByName: true}, Settings: &Settings{}}
			m.drop(newContest(m, e, e.lockName()))
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			m := New(Config{Group: "edge", Identity: "m1_01234567", Host: "m1", WritesPerSecond: 1})
			s := m.streamOf(Own)
			m.begin(s)
			m.now = 10
			m.watched(s, lock.Event{Kind: lock.Listing}, 10)
			m.watched(s, lock.Event{Kind: lock.Listed, Revision: 5, List: c.first}, 10)
			m.now = 30
			if c.do != nil {
				c.do(m, s)
			}
			e := &Election{ID: 1, Name: "a", Lock: "a", Settings: &Settings{}}
			since, known := s.absentSince(newContest(m, e, e.lockName()))
			if known != (c.want != 0) || known && since != c.want {
				t.Errorf("absent since %v (%v), want %v", since, known, c.want)
			}
		})
	}
}

// TestAbsenceForAMigration checks that the new lock of a migration counts as absent although its old lock
// names the same election: nobody leads by the new lock alone.
func TestAbsenceForAMigration(t *testing.T) {
	m := New(Config{Group: "edge", Identity: "m1_01234567", Host: "m1", WritesPerSecond: 1})
	s := m.streamOf(Own)
	m.begin(s)
	m.now = 10
	m.watched(s, lock.Event{Kind: lock.Listing}, 10)
	m.watched(s, lock.Event{Kind: lock.Listed, Revision: 5, List: []lock.Entry{{Name: "old", Record: &record.Record{Election: "a"}}}}, 10)
	e := &Election{ID: 1, Name: "a", Lock: "a", Settings: &Settings{}}
	c := newContest(m, e, e.lockName())
	c.outer = newContest(m, e, lockName{Own, "old"})
	if since, known := s.absentSince(c); !known || since != 10 {
		t.Errorf("the new lock is absent since %v (%v)", since, known)
	}
	if _, known := s.absentSince(c.outer); known {
		t.Error("the old lock is absent")
	}
}
