package memory

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/internal/follow"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// HistoryLimit is how many changes a realm remembers at most; it compacts older ones away.
const HistoryLimit = 1 << 16

// Realm is one realm in memory. Its methods act at once and never fail by themselves;
// a simulator without goroutines may use them instead of a Store.
type Realm struct {
	clock   clock.Clock
	decoder codec.Decoder

	// revision is the store's; the store may have other realms, too. It rises only under the mu
	// of the realm that is written to.
	revision *atomic.Uint64

	mu        sync.Mutex
	compacted uint64 // changes up to this revision are forgotten
	created   uint64
	progress  uint64
	objects   map[string]object
	history   []lock.Entry  // changes after compacted, in order
	changed   chan struct{} // closed and replaced when there is news for streams
}

// object is one incarnation of an object at one revision. It never changes.
type object struct {
	raw   codec.Object
	entry lock.Entry
}

// New makes an empty realm in a store of its own. Writes use the clock's wall time for zero times.
func New(c clock.Clock) *Realm {
	revision := &atomic.Uint64{}
	revision.Store(1)
	return within(c, revision)
}

// Beside makes an empty realm in the same store, like that of another kind of object: a write
// to either realm raises the revisions of both.
func (r *Realm) Beside() *Realm { return within(r.clock, r.revision) }

func within(c clock.Clock, revision *atomic.Uint64) *Realm {
	return &Realm{clock: c, revision: revision, compacted: revision.Load(), objects: map[string]object{}, changed: make(chan struct{})}
}

// Read returns the present state of a name.
func (r *Realm) Read(name string) lock.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o, ok := r.objects[name]; ok {
		return o.entry
	}
	return lock.Entry{Name: name}
}

// Write does what lock.Store.Put promises; its outcome is never unknown.
func (r *Realm) Write(name string, rec record.Record, replaces record.Version) (record.Version, error) {
	if err := codec.CheckName(name); err != nil {
		return record.Version{}, fmt.Errorf("%w: %w", lock.ErrInvalid, err)
	}
	raw, err := codec.Encode(rec, r.clock.Wall())
	if err != nil {
		return record.Version{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old, exists := r.objects[name]
	switch {
	case replaces.UID == "" && exists:
		return record.Version{}, fmt.Errorf("%w: %s", lock.ErrExists, name)
	case replaces.UID == "":
		return r.createLocked(name, raw), nil
	case !exists:
		return record.Version{}, fmt.Errorf("%w: %s", lock.ErrVanished, name)
	case old.entry.Version != replaces:
		return record.Version{}, fmt.Errorf("%w: %s is at %v, not at %v", lock.ErrConflict, name, old.entry.Version, replaces)
	}
	return r.updateLocked(name, old, raw), nil
}

// List returns all objects, ordered by name, and the revision of the realm.
func (r *Realm) List() ([]lock.Entry, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	entries := make([]lock.Entry, 0, len(r.objects))
	for _, o := range r.objects {
		entries = append(entries, o.entry)
	}
	slices.SortFunc(entries, func(a, b lock.Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, r.revision.Load()
}

// Since returns every change after the revision, in order, and the revision of the realm.
// The error is follow.ErrExpired if some of the changes have been compacted away.
func (r *Realm) Since(revision uint64) ([]lock.Entry, uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changes, err := r.sinceLocked(revision)
	return slices.Clone(changes), r.revision.Load(), err
}

func (r *Realm) sinceLocked(revision uint64) ([]lock.Entry, error) {
	if revision < r.compacted {
		return nil, fmt.Errorf("%w: %d is before %d", follow.ErrExpired, revision, r.compacted)
	}
	first := sort.Search(len(r.history), func(i int) bool { return r.history[i].Version.Revision > revision })
	return r.history[first:], nil
}

// Edit changes an object as a stranger with kubectl would, past every rule of ours, and
// returns its new version. It creates an absent object; edit then gets an empty one. The edit
// function must not call the realm.
func (r *Realm) Edit(name string, edit func(*codec.Object)) record.Version {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, exists := r.objects[name]
	raw := codec.Object{
		Fields:      old.raw.Fields,
		Annotations: cloned(old.raw.Annotations),
		Labels:      cloned(old.raw.Labels),
		Extra:       old.raw.Extra,
	}
	edit(&raw)
	raw.Annotations, raw.Labels = maps.Clone(raw.Annotations), maps.Clone(raw.Labels)
	if !exists {
		return r.createLocked(name, raw)
	}
	return r.updateLocked(name, old, raw)
}

// cloned returns a copy that can be written to.
func cloned(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return maps.Clone(m)
}

// Raw returns the object as it is stored; false if there is none.
func (r *Realm) Raw(name string) (codec.Object, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, ok := r.objects[name]
	raw := o.raw
	raw.Annotations, raw.Labels = maps.Clone(raw.Annotations), maps.Clone(raw.Labels)
	return raw, ok
}

// Delete removes an object, and says whether there was one.
func (r *Realm) Delete(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.objects[name]; !ok {
		return false
	}
	delete(r.objects, name)
	r.publishLocked(lock.Entry{Name: name, Version: record.Version{Revision: r.revision.Add(1)}})
	return true
}

// remove removes an object that still has the version.
func (r *Realm) remove(name string, is record.Version) error {
	if is.UID == "" || is.Revision == 0 {
		return fmt.Errorf("%w: a removal needs the version that it removes", lock.ErrInvalid)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch o, exists := r.objects[name]; {
	case !exists:
		return lock.ErrVanished
	case o.entry.Version != is:
		return lock.ErrConflict
	}
	delete(r.objects, name)
	r.publishLocked(lock.Entry{Name: name, Version: record.Version{Revision: r.revision.Add(1)}})
	return nil
}

// Revision returns the present revision of the realm's store.
func (r *Realm) Revision() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.revision.Load()
}

// Progress makes every open stream report its revision, as a bookmark does.
func (r *Realm) Progress() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress++
	r.wakeLocked()
}

// Compact forgets all changes so far: a stream that has not shown them all must start
// over with a list.
func (r *Realm) Compact() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history, r.compacted = nil, r.revision.Load()
	r.wakeLocked()
}

func (r *Realm) createLocked(name string, raw codec.Object) record.Version {
	r.created++
	return r.storeLocked(name, fmt.Sprintf("00000000-0000-4000-8000-%012x", r.created), raw)
}

func (r *Realm) updateLocked(name string, old object, raw codec.Object) record.Version {
	if same(old.raw, raw) {
		return old.entry.Version
	}
	return r.storeLocked(name, old.entry.Version.UID, raw)
}

func same(a, b codec.Object) bool {
	return a.Fields == b.Fields && maps.Equal(a.Annotations, b.Annotations) &&
		maps.Equal(a.Labels, b.Labels) && reflect.DeepEqual(a.Extra, b.Extra)
}

func (r *Realm) storeLocked(name, uid string, raw codec.Object) record.Version {
	o := object{raw: raw, entry: lock.Entry{
		Name:    name,
		Record:  r.decoder.Decode(raw),
		Version: record.Version{UID: uid, Revision: r.revision.Add(1)},
	}}
	r.objects[name] = o
	r.publishLocked(o.entry)
	return o.entry.Version
}

func (r *Realm) publishLocked(e lock.Entry) {
	r.history = append(r.history, e)
	if len(r.history) > HistoryLimit {
		half := len(r.history) / 2
		r.compacted = r.history[half-1].Version.Revision
		r.history = slices.Clone(r.history[half:])
	}
	r.wakeLocked()
}

func (r *Realm) wakeLocked() {
	close(r.changed)
	r.changed = make(chan struct{})
}
