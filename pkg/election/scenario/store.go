package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// store holds one kind of objects. It compares and swaps at once, and keeps every change.
type store struct {
	// named is the store's name in the scenario.
	named string
	// realm is the API server that the store shares with the other stores.
	realm   *realm
	objects []lock.Entry // by name
	// history is every change in order; streams are cursors into it.
	history []lock.Entry
}

// realm is the API server of all stores: their revisions rise together.
type realm struct {
	revision uint64
	created  int
	stores   []*store // the first has the sessions
}

// store is the number of the store with the given name.
func (r *realm) store(named string) int {
	for n, s := range r.stores {
		if s.named == named {
			return n
		}
	}
	r.stores = append(r.stores, &store{named: named, realm: r})
	return len(r.stores) - 1
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

// put does what lock.Store.Put promises. The record belongs to the store from then on.
func (s *store) put(name string, r *record.Record, replaces record.Version) (lock.Entry, error) {
	i, exists := s.find(name)
	e := lock.Entry{Name: name, Record: r}
	switch {
	case replaces.UID == "" && exists:
		return lock.Entry{}, lock.ErrExists
	case replaces.UID == "":
		s.realm.created++
		e.Version.UID = fmt.Sprintf("uid%d", s.realm.created)
		s.objects = slices.Insert(s.objects, i, e)
	case !exists || s.objects[i].Version != replaces:
		return lock.Entry{}, lock.ErrConflict
	default:
		e.Version.UID = replaces.UID
	}
	s.realm.revision++
	e.Version.Revision = s.realm.revision
	s.objects[i] = e
	s.history = append(s.history, e)
	return e, nil
}
