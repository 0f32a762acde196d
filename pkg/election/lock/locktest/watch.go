package locktest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// watcher keeps what a watch delivers until the test asks for it.
type watcher struct {
	t      *testing.T
	cancel context.CancelFunc
	// byName: the watch promises the store's order for each object only.
	byName bool
	done   chan struct{} // closed when Watch has returned
	err    error         // of Watch, once done

	mu     sync.Mutex
	events []lock.Event
	news   chan struct{} // one token when there are events to take
	inside bool          // deliver runs
	taken  []lock.Event
}

// names are all names that tests watch.
var names = []string{
	name, "a", "b", "last", "goes", "stays",
	"lock-0", "lock-1", "lock-2", "lock-3", "lock-4", "lock-5", "lock-6", "lock-7", "lock-8", "lock-9",
}

// watch starts a watch that ends with the test.
func watch(t *testing.T, s lock.Store) *watcher {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{t: t, cancel: cancel, done: make(chan struct{}), news: make(chan struct{}, 1)}
	follow := s.Watch
	if by, ok := s.(lock.NameWatcher); ok {
		w.byName = true
		follow = func(ctx context.Context, deliver func(lock.Event)) error { return by.WatchNames(ctx, names, deliver) }
	}
	go func() {
		defer close(w.done)
		w.err = follow(ctx, w.deliver)
	}()
	t.Cleanup(w.end)
	return w
}

func (w *watcher) deliver(e lock.Event) {
	w.mu.Lock()
	if w.inside {
		w.t.Error("two events are delivered at a time")
	}
	w.inside = true
	w.events = append(w.events, e)
	w.mu.Unlock()
	select {
	case w.news <- struct{}{}:
	default:
	}
	w.mu.Lock()
	w.inside = false
	w.mu.Unlock()
}

// end stops the watch and waits until it has returned.
func (w *watcher) end() {
	w.cancel()
	select {
	case <-w.done:
	case <-clock.NewTimer(patience).C:
		w.t.Error("Watch does not return when its context ends")
		return
	}
	if w.err != nil {
		w.t.Errorf("Watch returned %v, want nil", w.err)
	}
}

// next returns the next event.
func (w *watcher) next(what string) lock.Event {
	w.t.Helper()
	return w.nextOf(what, func(lock.Event) bool { return true })
}

// nextOf returns the next event of a part of the stream that has an order of its own.
func (w *watcher) nextOf(what string, part func(lock.Event) bool) lock.Event {
	w.t.Helper()
	timeout := clock.NewTimer(patience)
	defer timeout.Stop()
	for {
		w.mu.Lock()
		if i := slices.IndexFunc(w.events, part); i >= 0 {
			e := w.events[i]
			w.events = slices.Delete(w.events, i, i+1)
			w.mu.Unlock()
			w.taken = append(w.taken, e)
			return e
		}
		w.mu.Unlock()
		select {
		case <-w.news:
		case <-timeout.C:
			w.t.Fatalf("waited in vain for %s; saw %s", what, w)
		}
	}
}

// await returns the next event that wanted accepts.
func (w *watcher) await(what string, wanted func(lock.Event) bool) lock.Event {
	w.t.Helper()
	for {
		if e := w.next(what); wanted(e) {
			return e
		}
	}
}

// change returns the next change, which must be of the name.
func (w *watcher) change(name string) lock.Entry {
	w.t.Helper()
	e := w.nextOf("a change of "+name, func(e lock.Event) bool {
		return e.Kind != lock.Progressed && (!w.byName || e.Kind != lock.Changed || e.Entry.Name == name)
	})
	if e.Kind != lock.Changed || e.Entry.Name != name {
		w.t.Fatalf("want a change of %s; saw %s", name, w)
	}
	return e.Entry
}

func (w *watcher) String() string {
	s := ""
	for _, e := range w.taken {
		s += fmt.Sprintf("\n  %v", e.Kind)
		switch e.Kind {
		case lock.Changed:
			s += fmt.Sprintf(" %s %v", e.Entry.Name, e.Entry.Version)
		case lock.Listed:
			s += fmt.Sprintf(" %d objects at %d", len(e.List), e.Revision)
		case lock.Broken:
			s += fmt.Sprintf(" %v", e.Err)
		}
	}
	return s
}

func resumed(e lock.Event) bool { return e.Kind == lock.Resumed }
func broken(e lock.Event) bool  { return e.Kind == lock.Broken }

func testWatchList(t *testing.T, r Realm) {
	s := r.Store()
	want := map[string]record.Version{}
	for i := range 5 {
		n := fmt.Sprintf("lock-%d", i)
		want[n] = mustPut(t, s, n, held(uint64(i)), record.Version{})
	}
	w := watch(t, s)
	if e := w.next("the beginning"); e.Kind != lock.Listing {
		t.Fatalf("begins with %v", e.Kind)
	}
	// Progress is allowed between Listing and Listed only: a piece of the list has come. Objects that
	// are watched by name come one by one, and each but the last may progress. These five fit into one
	// piece.
	listed, pieces := w.next("the list"), 0
	for ; listed.Kind == lock.Progressed; listed = w.next("the list") {
		pieces++
		if listed.Revision != 0 || listed.Entry.Name != "" || listed.List != nil {
			t.Errorf("a piece of the list tells %+v", listed)
		}
	}
	if pieces > 0 && (!w.byName || pieces != len(names)-1) {
		t.Errorf("%d pieces of the list told of themselves", pieces)
	}
	if listed.Kind != lock.Listed || listed.Revision < want["lock-4"].Revision {
		t.Fatalf("got %v at %d", listed.Kind, listed.Revision)
	}
	if e := w.next("the stream"); e.Kind != lock.Resumed {
		t.Fatalf("got %v", e.Kind)
	}
	got := map[string]record.Version{}
	for _, e := range listed.List {
		got[e.Name] = e.Version
		if e.Name == "lock-3" {
			says(t, e, held(3), want["lock-3"])
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
}

// testWatchOrder checks that every change is shown once, in order, at the version that its write
// returned.
func testWatchOrder(t *testing.T, r Realm) {
	s := r.Store()
	w := watch(t, s)
	w.await("a stream", resumed)
	a := mustPut(t, s, "a", held(1), record.Version{})
	says(t, w.change("a"), held(1), a)
	a = mustPut(t, s, "a", held(2), a)
	b := mustPut(t, s, "b", held(1), record.Version{})
	a = mustPut(t, s, "a", held(3), a)
	mustDelete(t, r, "b")
	b2 := mustPut(t, s, "b", held(5), record.Version{})
	says(t, w.change("a"), held(2), record.Version{UID: a.UID, Revision: w.taken[len(w.taken)-1].Entry.Version.Revision})
	says(t, w.change("b"), held(1), b)
	says(t, w.change("a"), held(3), a)
	gone := w.change("b")
	if !gone.Absent() || gone.Version.UID != "" || gone.Version.Revision <= a.Revision || gone.Version.Revision >= b2.Revision {
		t.Errorf("the deletion between %v and %v is shown as %+v", a, b2, gone)
	}
	says(t, w.change("b"), held(5), b2)
}

func testWatchIdentical(t *testing.T, r Realm) {
	s := r.Store()
	w := watch(t, s)
	w.await("a stream", resumed)
	v1 := mustPut(t, s, name, held(1), record.Version{})
	mustPut(t, s, name, held(1), v1)
	v2 := mustPut(t, s, name, held(2), v1)
	says(t, w.change(name), held(1), v1)
	says(t, w.change(name), held(2), v2)
}

// testWatchGapless checks that a watch that starts between writes misses none and shows none twice.
func testWatchGapless(t *testing.T, r Realm) {
	s := r.Store()
	const writes, last = 60, "last"
	written := make(chan record.Version, writes)
	var writer sync.WaitGroup
	ctx := within(t)
	defer writer.Wait()
	writer.Go(func() {
		defer close(written)
		var v record.Version
		var err error
		for beat := range uint64(writes) {
			if v, err = s.Put(ctx, name, held(beat), v); err != nil {
				t.Errorf("put: %v", err)
				return
			}
			written <- v
		}
	})
	for range 3 {
		<-written
	}
	w := watch(t, r.Store())
	listed := w.await("a list", func(e lock.Event) bool { return e.Kind == lock.Listed })
	if len(listed.List) != 1 {
		t.Fatalf("listed %d objects", len(listed.List))
	}
	beat := listed.List[0].Record.Mark.Beat
	w.await("a stream", resumed)
	for beat < writes-1 {
		e := w.change(name)
		if e.Record.Mark.Beat != beat+1 {
			t.Fatalf("beat %d follows %d", e.Record.Mark.Beat, beat)
		}
		beat++
	}
	writer.Wait()
	v := mustPut(t, s, last, held(1), record.Version{})
	says(t, w.change(last), held(1), v)
}

func testWatchTwo(t *testing.T, r Realm) {
	one, two := watch(t, r.Store()), watch(t, r.Store())
	one.await("a stream", resumed)
	two.await("a stream", resumed)
	s := r.Store()
	for i := range 10 {
		mustPut(t, s, fmt.Sprintf("lock-%d", i), held(uint64(i)), record.Version{})
	}
	for i := range 10 {
		n := fmt.Sprintf("lock-%d", i)
		if a, b := one.change(n), two.change(n); a.Version != b.Version {
			t.Errorf("%s is shown at %v and %v", n, a.Version, b.Version)
		}
	}
}

// testWatchResume checks that after a short break a watch shows what happened meanwhile, without a list.
func testWatchResume(t *testing.T, r Realm) {
	s := r.Store()
	v := mustPut(t, s, name, held(1), record.Version{})
	w := watch(t, s)
	w.await("a stream", resumed)
	for round := range uint64(3) {
		mend := r.Cut()
		is(t, w.await("the break", broken).Err, lock.ErrUnknown)
		v1 := mustPut(t, s, name, held(10*round+2), v)
		v = mustPut(t, s, name, held(10*round+3), v1)
		mend()
		w.await("a new stream", func(e lock.Event) bool {
			if e.Kind == lock.Listing || e.Kind == lock.Changed {
				t.Fatalf("no resumption; saw %s", w)
			}
			return e.Kind == lock.Resumed
		})
		says(t, w.change(name), held(10*round+2), v1)
		says(t, w.change(name), held(10*round+3), v)
	}
}

// testWatchRelist checks that after a long break a watch lists everything anew; what the list lacks is
// absent.
func testWatchRelist(t *testing.T, r Realm) {
	s := r.Store()
	mustPut(t, s, "goes", held(1), record.Version{})
	v := mustPut(t, s, "stays", held(1), record.Version{})
	w := watch(t, s)
	w.await("a stream", resumed)
	mend := r.Cut()
	w.await("the break", broken)
	mustDelete(t, r, "goes")
	v = mustPut(t, s, "stays", held(2), v)
	if err := r.Forget(); err != nil {
		t.Fatal(err)
	}
	mend()
	listing := false
	listed := w.await("a list", func(e lock.Event) bool {
		listing = listing || e.Kind == lock.Listing
		if e.Kind == lock.Changed {
			t.Fatalf("changes after all is forgotten; saw %s", w)
		}
		return e.Kind == lock.Listed
	})
	if !listing {
		t.Error("a list without notice")
	}
	if len(listed.List) != 1 || listed.Revision < v.Revision {
		t.Fatalf("listed %+v at %d", listed.List, listed.Revision)
	}
	says(t, listed.List[0], held(2), v)
	w.await("a stream", resumed)
	v = mustPut(t, s, "stays", held(3), v)
	says(t, w.change("stays"), held(3), v)
}

// testWatchEnd checks that a watch ends with its context, returns nil, and delivers nothing more.
func testWatchEnd(t *testing.T, r Realm) {
	s := r.Store()
	w := watch(t, s)
	w.await("a stream", resumed)
	w.end()
	mustPut(t, s, name, held(1), record.Version{})
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.Kind == lock.Changed || e.Kind == lock.Broken {
			t.Errorf("delivered %v after the end", e.Kind)
		}
	}
}

// testWatchNames checks that a watch by name shows those names only, and lists them as they were at one
// revision.
func testWatchNames(t *testing.T, r Realm) {
	s, ok := r.Store().(lock.NameWatcher)
	if !ok {
		t.Skip("this store is not watched by name")
	}
	const other = "somebody-elses"
	a := mustPut(t, s, "a", held(1), record.Version{})
	mustPut(t, s, other, held(1), record.Version{})
	b := mustPut(t, s, "b", held(1), record.Version{})
	w := watch(t, s)
	listed := w.await("a list", func(e lock.Event) bool { return e.Kind == lock.Listed })
	got := map[string]record.Version{}
	for _, e := range listed.List {
		got[e.Name] = e.Version
	}
	if want := map[string]record.Version{"a": a, "b": b}; !reflect.DeepEqual(got, want) || listed.Revision < b.Revision {
		t.Errorf("listed %v at %d, want %v", got, listed.Revision, want)
	}
	w.await("a stream", resumed)
	o := mustGet(t, s, other)
	mustPut(t, s, other, held(2), o.Version)
	b = mustPut(t, s, "b", held(2), b)
	says(t, w.change("b"), held(2), b)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.Kind == lock.Changed {
			t.Errorf("shown a change of %s", e.Entry.Name)
		}
	}
}

// testWatchNamesConsistent checks that the list shows all names at one revision, however they change
// meanwhile: what it shows of b was written after what it shows of a.
func testWatchNamesConsistent(t *testing.T, r Realm) {
	s, ok := r.Store().(lock.NameWatcher)
	if !ok {
		t.Skip("this store is not watched by name")
	}
	ctx, stop := context.WithCancel(within(t))
	var writer sync.WaitGroup
	defer writer.Wait()
	defer stop()
	first := make(chan struct{})
	writer.Go(func() {
		var versions [2]record.Version
		for beat := uint64(1); ctx.Err() == nil; beat++ {
			for i, name := range []string{"a", "b"} {
				v, err := s.Put(ctx, name, held(beat), versions[i])
				if err != nil {
					if ctx.Err() == nil {
						t.Errorf("put: %v", err)
					}
					return
				}
				versions[i] = v
			}
			if beat == 1 {
				close(first)
			}
		}
	})
	<-first
	for range 10 {
		w := watch(t, s)
		listed := w.await("a list", func(e lock.Event) bool {
			if e.Kind == lock.Broken {
				t.Errorf("no list at first: %v", e.Err)
			}
			return e.Kind == lock.Listed
		})
		beats := map[string]uint64{}
		for _, e := range listed.List {
			beats[e.Name] = e.Record.Mark.Beat
			if e.Version.Revision > listed.Revision {
				t.Errorf("%s of %d is listed at %d", e.Name, e.Version.Revision, listed.Revision)
			}
		}
		if a, b := beats["a"], beats["b"]; a != b && a != b+1 {
			t.Errorf("listed a at beat %d and b at %d", a, b)
		}
		w.end()
	}
}
