package sim

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// store is the realm's objects as they truly are. Its methods act at once; links delay or drop requests.
type store struct {
	// wholeSeconds names the objects whose times are cut to whole seconds: ConfigMaps. A write to a ConfigMap
	// that is gone finds nothing; a write to a Lease that is gone conflicts over its uid.
	wholeSeconds map[string]bool
	stamp        func() time.Time
	revision     uint64
	created      int
	restores     int          // how often it was reset
	objects      []lock.Entry // ordered by name
	// history is every change, in order of commitment; streams are cursors into it.
	history []change
	// changed is called with every change.
	changed func(change)
}

type change struct {
	entry lock.Entry
	at    int64
}

func (s *store) find(name string) (int, bool) {
	return slices.BinarySearchFunc(s.objects, name, func(e lock.Entry, name string) int { return strings.Compare(e.Name, name) })
}

// read is a consistent read; an absent object has no version.
func (s *store) read(name string) lock.Entry {
	if i, ok := s.find(name); ok {
		return s.objects[i]
	}
	return lock.Entry{Name: name}
}

// put does at once what lock.Store.Put promises. It returns the entry that is stored now; the record
// belongs to the store from then on.
func (s *store) put(now int64, name string, r *record.Record, replaces record.Version) (lock.Entry, error) {
	if wall := s.stamp(); true {
		r.Acquired, r.Renewed = orNow(r.Acquired, wall), orNow(r.Renewed, s.visible(name, wall))
		if s.wholeSeconds[name] {
			r.Acquired, r.Renewed = r.Acquired.Truncate(time.Second), r.Renewed.Truncate(time.Second)
		}
		if n := len(r.History); n > 0 && r.History[n-1].When.IsZero() {
			r.History = slices.Clone(r.History)
			r.History[n-1].When = wall
		}
	}
	i, exists := s.find(name)
	switch {
	case replaces.UID == "" && exists:
		return lock.Entry{}, lock.ErrExists
	case replaces.UID == "":
		s.created++
		return s.commit(now, name, r, fmt.Sprintf("uid%d", s.created)), nil
	case !exists && s.wholeSeconds[name]:
		return lock.Entry{}, lock.ErrVanished
	case !exists:
		return lock.Entry{}, lock.ErrConflict
	case s.objects[i].Version != replaces:
		return lock.Entry{}, lock.ErrConflict
	case same(s.objects[i].Record, r):
		return s.objects[i], nil
	}
	return s.commit(now, name, r, replaces.UID), nil
}

// visible is the renew time that a member of ours writes: in a later second than the stored one, since
// client-go's electors see only whole seconds.
func (s *store) visible(name string, wall time.Time) time.Time {
	if i, exists := s.find(name); exists {
		if next := s.objects[i].Record.Renewed.Truncate(time.Second).Add(time.Second); wall.Before(next) {
			return next
		}
	}
	return wall
}

func orNow(t, now time.Time) time.Time {
	if t.IsZero() {
		return now
	}
	return t
}

func same(a, b *record.Record) bool {
	if a.Mark != nil && b.Mark != nil && a.Mark.Beat != b.Mark.Beat {
		return false // beats nearly always differ
	}
	return reflect.DeepEqual(a, b)
}

// commit stores a record, or with nil deletes the object.
func (s *store) commit(now int64, name string, r *record.Record, uid string) lock.Entry {
	s.revision++
	e := lock.Entry{Name: name, Record: r, Version: record.Version{UID: uid, Revision: s.revision}}
	i, exists := s.find(name)
	switch {
	case r == nil:
		e.Version.UID = ""
		s.objects = slices.Delete(s.objects, i, i+1)
	case exists:
		s.objects[i] = e
	default:
		s.objects = slices.Insert(s.objects, i, e)
	}
	c := change{entry: e, at: now}
	s.history = append(s.history, c)
	s.changed(c)
	return e
}

// snapshot is the content of the store, as a backup would hold it.
type snapshot struct {
	revision uint64
	objects  []lock.Entry
}

func (s *store) snapshot() snapshot {
	return snapshot{revision: s.revision, objects: slices.Clone(s.objects)}
}

// restore resets the store; streams must start over.
func (s *store) restore(b snapshot) {
	s.restores++
	s.revision, s.objects = b.revision, slices.Clone(b.objects)
}
