package election

import (
	"context"
	"slices"
	"sync"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// relay passes on what a watch shows. On demand it has the store listed once more, while the watch goes on, and
// puts the list where it belongs among the changes: what the member is shown is no older than what it saw before.
type relay struct {
	watch uint64
	post  func(member.Input)
	now   func() record.Instant

	mu sync.Mutex
	// whole: the watch is open, and shows every change.
	whole bool
	// ahead is the revision of the last list that relist made: the changes up to it are in that list.
	ahead uint64
	// again is the list under way; nil for none.
	again *again
}

// again is a list that is made while the watch goes on.
type again struct {
	end context.CancelFunc
	// list is the list, which waits until the watch is whole; nil if it has not come.
	list *lock.Event
	// since are the changes that the watch has shown since the list was requested.
	since []lock.Entry
}

// show passes on an event of the watch.
func (r *relay) show(e lock.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Kind {
	case lock.Changed:
		if e.Entry.Version.Revision <= r.ahead {
			return
		}
		if r.again != nil {
			r.again.since = append(r.again.since, e.Entry)
		}
	case lock.Listing:
		r.whole, r.ahead = false, 0
		r.drop() // the watch lists by itself
	case lock.Broken:
		r.whole = false
	case lock.Resumed:
		r.whole = true
	case lock.Listed, lock.Progressed:
	}
	r.pass(e)
	r.insert()
}

func (r *relay) pass(e lock.Event) {
	r.post(member.Shown{Watch: r.watch, Event: e, At: r.now()})
}

// drop gives up the list under way.
func (r *relay) drop() {
	if r.again != nil {
		r.again.end()
		r.again = nil
	}
}

// relist lists the store once more with a watch of its own, which ends with the list. It returns once the list has come, or
// has been given up.
func (r *relay) relist(ctx context.Context, watch func(context.Context, func(lock.Event)) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	one := &again{end: cancel}
	r.mu.Lock()
	r.drop()
	r.again = one
	r.mu.Unlock()
	return watch(ctx, func(e lock.Event) { r.listing(one, e) })
}

// listing handles an event of the watch that lists.
func (r *relay) listing(one *again, e lock.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.again != one {
		return
	}
	switch e.Kind {
	case lock.Listing:
		one.since = nil
		r.post(member.ListSent{Watch: r.watch, At: r.now()})
	case lock.Broken:
		one.since = nil
		r.post(member.ListFailed{Watch: r.watch, Err: e.Err})
	case lock.Listed:
		one.end()
		one.list = &e
		r.insert()
	case lock.Changed, lock.Resumed, lock.Progressed:
	}
}

// insert passes the list on, if it has come, as it is at the place that the watch has reached.
func (r *relay) insert() {
	if r.again == nil || r.again.list == nil || !r.whole {
		return
	}
	list, since := *r.again.list, r.again.since
	r.again, r.ahead = nil, list.Revision
	list.List, list.Revision = bring(list.List, list.Revision, since)
	r.pass(list)
}

// bring returns a list as it is after the changes, and its revision. It ignores changes that the list shows.
func bring(list []lock.Entry, revision uint64, changes []lock.Entry) ([]lock.Entry, uint64) {
	changes = slices.DeleteFunc(changes, func(e lock.Entry) bool { return e.Version.Revision <= revision })
	if len(changes) == 0 {
		return list, revision
	}
	last := make(map[string]lock.Entry, len(changes))
	for _, e := range changes {
		last[e.Name], revision = e, e.Version.Revision
	}
	list = slices.DeleteFunc(list, func(e lock.Entry) bool { _, is := last[e.Name]; return is })
	for _, e := range changes {
		if e == last[e.Name] && !e.Absent() {
			list = append(list, e)
		}
	}
	return list, revision
}
