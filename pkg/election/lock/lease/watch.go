package lease

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/follow"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// pageSize is how many Leases are asked for at a time. All pages show the revision of
// the first.
const pageSize = 1000

// A watch is asked to end after a random time from here to twice that, as client-go
// does, so that many do not come back at the same moment.
const watchSeconds = 300

// source is the namespace, as a whole and name by name.
type source struct {
	*Store
	// seconds is how long streams last: one number, so that those of several names end
	// together and break once.
	seconds int
}

var (
	_ follow.Source = source{}
	_ follow.Named  = source{}
)

func (s *Store) source() source { return source{s, watchSeconds + rand.IntN(watchSeconds)} }

// List implements follow.Source: a list without resourceVersion, which is consistent.
func (s source) List(ctx context.Context) ([]lock.Entry, uint64, error) {
	entries, at, err := s.list(ctx, pageSize)
	if isExpired(err) {
		// The revision of the first page went away meanwhile. One page cannot expire.
		entries, at, err = s.list(ctx, 0)
	}
	if err != nil {
		return nil, 0, s.readError(err)
	}
	return entries, at, nil
}

func (s source) list(ctx context.Context, limit int) ([]lock.Entry, uint64, error) {
	var entries []lock.Entry
	more := ""
	for {
		req := s.request(s.client.RESTClient().Get())
		if limit > 0 {
			req.Param("limit", strconv.Itoa(limit))
		}
		if more != "" {
			req.Param("continue", more)
		}
		shown, next, at, err := s.page(ctx, req)
		if err != nil {
			return nil, 0, err
		}
		entries = append(entries, shown...)
		if more = next; more == "" {
			return entries, at, nil
		}
	}
}

func (s source) page(ctx context.Context, req *rest.Request) (entries []lock.Entry, more string, at uint64, err error) {
	var page coordinationv1.LeaseList
	if err := req.Do(ctx).Into(&page); err != nil {
		return nil, "", 0, err
	}
	for i := range page.Items {
		e, err := s.entry(&page.Items[i])
		if err != nil {
			return nil, "", 0, err
		}
		entries = append(entries, e)
	}
	at, err = revision(page.ResourceVersion)
	return entries, page.Continue, at, err
}

// ListName implements follow.Named.
func (s source) ListName(ctx context.Context, name string, at uint64) ([]lock.Entry, uint64, error) {
	req := named(s.request(s.client.RESTClient().Get()), name)
	if at != 0 {
		req.Param("resourceVersion", strconv.FormatUint(at, 10)).Param("resourceVersionMatch", "Exact")
	}
	entries, _, at, err := s.page(ctx, req)
	if err != nil {
		return nil, 0, s.streamError(err)
	}
	return entries, at, nil
}

// Open implements follow.Source.
func (s source) Open(ctx context.Context, after uint64) (follow.Stream, error) {
	return s.open(ctx, s.request(s.client.RESTClient().Get()), after)
}

// OpenName implements follow.Named.
func (s source) OpenName(ctx context.Context, name string, after uint64) (follow.Stream, error) {
	return s.open(ctx, named(s.request(s.client.RESTClient().Get()), name), after)
}

// named restricts a list or watch to one object, which a role bound to names may do.
func named(req *rest.Request, name string) *rest.Request {
	return req.Param("fieldSelector", "metadata.name="+name)
}

func (s source) open(ctx context.Context, req *rest.Request, after uint64) (follow.Stream, error) {
	w, err := req.
		Param("watch", "true").
		Param("allowWatchBookmarks", "true").
		Param("resourceVersion", strconv.FormatUint(after, 10)).
		Param("timeoutSeconds", strconv.Itoa(s.seconds)).
		Watch(ctx)
	if err != nil {
		return nil, s.streamError(err)
	}
	st := &stream{source: s, events: w}
	if err := st.peek(); err != nil {
		st.Close()
		return nil, err
	}
	return st, nil
}

// streamError maps why a stream was not opened, or ended.
func (s source) streamError(err error) error {
	if isExpired(err) {
		return fmt.Errorf("%w: %w", follow.ErrExpired, s.readError(err))
	}
	return s.readError(err)
}

// stream belongs to the goroutine that reads it.
type stream struct {
	source
	events watch.Interface
	first  *lock.Event
}

// peek looks whether the stream has failed already: client-go shows some failed requests
// as a stream without events, and the server shows an expired revision as an event.
func (st *stream) peek() error {
	select {
	case e, open := <-st.events.ResultChan():
		event, err := st.event(e, open)
		if err != nil {
			return err
		}
		st.first = &event
	default:
	}
	return nil
}

// Next implements follow.Stream.
func (st *stream) Next(ctx context.Context) (lock.Event, error) {
	if st.first != nil {
		e := *st.first
		st.first = nil
		return e, nil
	}
	select {
	case <-ctx.Done():
		return lock.Event{}, wrap(lock.ErrUnknown, ctx.Err())
	case e, open := <-st.events.ResultChan():
		return st.event(e, open)
	}
}

// Close implements follow.Stream. It waits until client-go's goroutine is gone.
func (st *stream) Close() {
	st.events.Stop()
	for range st.events.ResultChan() {
	}
}

func (st *stream) event(e watch.Event, open bool) (lock.Event, error) {
	if !open {
		return lock.Event{}, wrap(lock.ErrUnknown, fmt.Errorf("watch closed: %w", io.EOF))
	}
	if e.Type == watch.Error {
		return lock.Event{}, st.streamError(apierrors.FromObject(e.Object))
	}
	l, ok := e.Object.(*coordinationv1.Lease)
	if !ok {
		return lock.Event{}, wrap(lock.ErrUnknown, fmt.Errorf("watch shows a %T", e.Object))
	}
	shown, err := st.shown(e.Type, l)
	if err != nil {
		return lock.Event{}, wrap(lock.ErrUnknown, err)
	}
	return shown, nil
}

func (st *stream) shown(t watch.EventType, l *coordinationv1.Lease) (lock.Event, error) {
	switch t {
	case watch.Added, watch.Modified:
		e, err := st.entry(l)
		return lock.Event{Kind: lock.Changed, Entry: e}, err
	case watch.Deleted:
		at, err := revision(l.ResourceVersion)
		return lock.Event{Kind: lock.Changed, Entry: lock.Entry{Name: l.Name, Version: record.Version{Revision: at}}}, err
	case watch.Bookmark:
		at, err := revision(l.ResourceVersion)
		return lock.Event{Kind: lock.Progressed, Revision: at}, err
	}
	return lock.Event{}, fmt.Errorf("unknown watch event %q", t)
}
