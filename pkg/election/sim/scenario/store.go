package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// store is the realm: it compares and swaps at once, and keeps every change.
type store struct {
	revision uint64
	created  int
	objects  []lock.Entry // by name
	// history is every change in order; streams are cursors into it.
	history []lock.Entry
}

func (s *store) find(name string) (int, bool) {
	return slices.BinarySearchFunc(s.objects, name, func(e lock.Entry, name string) int { return strings.Compare(e.Name, name) })
}

func (s *store) get(name string) lock.Entry {
	if i, ok := s.find(name); ok {
		return s.objects[i]
	}
	return lock.Entry{Name: name}
}

// put does what lock.Store.Put promises. The record becomes the store's.
func (s *store) put(name string, r *record.Record, replaces record.Version) (lock.Entry, error) {
	i, exists := s.find(name)
	e := lock.Entry{Name: name, Record: r}
	switch {
	case replaces.UID == "" && exists:
		return lock.Entry{}, lock.ErrExists
	case replaces.UID == "":
		s.created++
		e.Version.UID = fmt.Sprintf("uid%d", s.created)
		s.objects = slices.Insert(s.objects, i, e)
	case !exists || s.objects[i].Version != replaces:
		return lock.Entry{}, lock.ErrConflict
	default:
		e.Version.UID = replaces.UID
	}
	s.revision++
	e.Version.Revision = s.revision
	s.objects[i] = e
	s.history = append(s.history, e)
	return e, nil
}

// stamp puts the time of sending where a record says "now".
func stamp(r record.Record, wall time.Time) *record.Record {
	if r.Mark != nil && r.Acquired.IsZero() {
		r.Acquired = wall
	}
	if r.Mark != nil && r.Renewed.IsZero() {
		r.Renewed = wall
	}
	if n := len(r.History); n > 0 && r.History[n-1].When.IsZero() {
		r.History = slices.Clone(r.History)
		r.History[n-1].When = wall
	}
	return &r
}
