package election

import (
	"context"
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
	// whole: the watch is open, and shows every change. listing: it lists by itself.
	whole, listing bool
	// shown is the newest revision that the watch has shown.
	shown uint64
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
	// from is the newest revision that the watch had shown when the list was requested, since are the changes that it has
	// shown from then on.
	from  uint64
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
		r.shown = e.Entry.Version.Revision
		if r.again != nil {
			r.again.since = append(r.again.since, e.Entry)
		}
	case lock.Listing:
		r.whole, r.listing, r.ahead = false, true, 0
		r.drop()
	case lock.Broken:
		r.whole = false
	case lock.Resumed:
		r.whole = true
	case lock.Listed:
		r.listing, r.shown = false, e.Revision
	case lock.Progressed:
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
// has been given up. While the watch lists by itself there is nothing to do: the changes that this list replaces are
// not known, so another list could not be brought to its place.
func (r *relay) relist(ctx context.Context, watch func(context.Context, func(lock.Event)) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	one := &again{end: cancel}
	r.mu.Lock()
	listing := r.listing
	if !listing {
		r.drop()
		r.again = one
	}
	r.mu.Unlock()
	if listing {
		return nil
	}
	return watch(ctx, func(e lock.Event) { r.hear(one, e) })
}

// hear handles an event of the watch that lists.
func (r *relay) hear(one *again, e lock.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.again != one {
		return
	}
	switch e.Kind {
	case lock.Listing:
		one.from, one.since = r.shown, nil
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
	one, list := r.again, *r.again.list
	r.again, r.ahead = nil, list.Revision
	if list.Revision >= one.from { // else the store was restored, and the member must see that
		list.List, list.Revision = bring(list.List, list.Revision, one.since)
	}
	r.pass(list)
}

// bring returns a list as it is after the changes, and its revision. It ignores changes that the list shows.
func bring(list []lock.Entry, revision uint64, changes []lock.Entry) ([]lock.Entry, uint64) {
	last := make(map[string]lock.Entry, len(changes))
	for _, e := range changes {
		if e.Version.Revision > revision {
			last[e.Name] = e
		}
	}
	if len(last) == 0 {
		return list, revision
	}
	brought := make([]lock.Entry, 0, len(list)+len(last))
	for _, e := range list {
		if _, changed := last[e.Name]; !changed {
			brought = append(brought, e)
		}
	}
	for _, e := range changes {
		if e == last[e.Name] && !e.Absent() {
			brought = append(brought, e)
		}
	}
	return brought, changes[len(changes)-1].Version.Revision
}
