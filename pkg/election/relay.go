package election

import (
	"context"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// relay passes on what a watch shows. On demand it lists the store beside the watch, and puts that list where it belongs among
// the changes. Unless the store was restored, the list is no older than what the watch has shown, and nothing older follows it.
type relay struct {
	watch uint64
	post  func(member.Input)
	now   func() record.Instant

	// turn is taken by whoever handles an event, and kept while the relay posts, which waits while the inbox is full. So the
	// host's own goroutine never takes it. It guards what follows.
	turn chan struct{}
	// whole: the watch is open, and shows every change. listing: it lists by itself.
	whole, listing bool
	// shown is the newest revision that the watch has shown.
	shown uint64
	// ahead is the revision of the last list made beside the watch: the changes up to it are in that list.
	ahead uint64
	// beside is the list under way beside the watch; nil for none.
	beside *beside
}

// beside is a list that is made beside a watch.
type beside struct {
	end context.CancelFunc
	// list is the list, which waits until the watch is whole; nil if it has not come.
	list *lock.Event
	// from is the newest revision that the watch had shown when the list was requested, since are the changes that it has
	// shown from then on.
	from  uint64
	since []lock.Entry
}

func newRelay(watch uint64, post func(member.Input), now func() record.Instant) *relay {
	return &relay{watch: watch, post: post, now: now, turn: make(chan struct{}, 1)}
}

// show passes on an event of the watch.
func (r *relay) show(e lock.Event) {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	switch e.Kind {
	case lock.Changed:
		if e.Entry.Version.Revision <= r.ahead {
			r.passLocked(lock.Event{Kind: lock.Progressed, Revision: e.Entry.Version.Revision}) // a sign of life
			return
		}
		r.shown = e.Entry.Version.Revision
		if r.beside != nil {
			r.beside.since = append(r.beside.since, e.Entry)
		}
	case lock.Listing:
		r.whole, r.listing, r.ahead = false, true, 0
		r.dropLocked()
	case lock.Broken:
		r.whole = false
	case lock.Resumed:
		r.whole = true
	case lock.Listed:
		r.listing, r.shown = false, e.Revision
	case lock.Progressed:
	}
	r.passLocked(e)
	r.insertLocked()
}

func (r *relay) passLocked(e lock.Event) {
	r.post(member.Shown{Watch: r.watch, Event: e, At: r.now()})
}

// dropLocked gives up the list under way.
func (r *relay) dropLocked() {
	if r.beside != nil {
		r.beside.end()
		r.beside = nil
	}
}

// relist lists the store beside the watch, with a watch of its own that ends with the list. It returns once the list has come,
// or has been given up. While the watch lists by itself, relist does nothing: nobody would know what changed between the two lists.
func (r *relay) relist(ctx context.Context, watch func(context.Context, func(lock.Event)) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	one := r.begin(cancel)
	if one == nil {
		return nil
	}
	return watch(ctx, func(e lock.Event) { r.hear(one, e) })
}

// begin begins a list, in place of one that is under way; it returns nil if the watch lists by itself.
func (r *relay) begin(end context.CancelFunc) *beside {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	if r.listing {
		return nil
	}
	r.dropLocked()
	r.beside = &beside{end: end}
	return r.beside
}

// hear handles an event of the watch that lists.
func (r *relay) hear(one *beside, e lock.Event) {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	if r.beside != one || one.list != nil {
		return
	}
	switch e.Kind {
	case lock.Listing:
		one.from, one.since = max(r.shown, r.ahead), nil
		r.post(member.ListSent{Watch: r.watch, At: r.now()})
	case lock.Broken:
		one.since = nil
		r.post(member.ListFailed{Watch: r.watch, Err: e.Err})
	case lock.Listed:
		one.end()
		one.list = &e
		r.insertLocked()
	case lock.Changed, lock.Resumed, lock.Progressed:
	}
}

// insertLocked passes the list on, if it has come, as it is at the place that the watch has reached.
func (r *relay) insertLocked() {
	if r.beside == nil || r.beside.list == nil || !r.whole {
		return
	}
	one, list := r.beside, *r.beside.list
	r.beside, r.ahead = nil, list.Revision
	if list.Revision >= one.from { // else the store was restored, and the member must see that
		list.List, list.Revision = bring(list.List, list.Revision, one.since)
	}
	r.passLocked(list)
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
