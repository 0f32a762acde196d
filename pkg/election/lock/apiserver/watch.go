package apiserver

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/internal/follow"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// watchSeconds: we ask the server to end a watch after a random time from this to twice this,
// as client-go does, so that many watches do not come back at the same moment.
const watchSeconds = 300

// Watch implements lock.Store.Watch, for all objects of the namespace that the selector picks, locks or
// not.
func (s *Objects[O]) Watch(ctx context.Context, deliver func(lock.Event)) error {
	follow.Run(ctx, s.source(), pace(), deliver)
	return nil
}

// WatchNames implements lock.NameWatcher.WatchNames. Each name has a stream of its own, so events keep
// the order of the store for each object but not across objects; a list shows all names at one revision.
// Without names WatchNames delivers nothing.
func (s *Objects[O]) WatchNames(ctx context.Context, names []string, deliver func(lock.Event)) error {
	return watchNames(ctx, names, func() { follow.Run(ctx, follow.Names(s.source(), names), pace(), deliver) })
}

// WatchOnly does the same as WatchNames, through one stream of the whole namespace, from which it drops
// all other objects.
func (s *Objects[O]) WatchOnly(ctx context.Context, names []string, deliver func(lock.Event)) error {
	return watchNames(ctx, names, func() { follow.Run(ctx, s.source(), pace(), lock.Only(names, deliver)) })
}

func watchNames(ctx context.Context, names []string, watch func()) error {
	for _, name := range names {
		if err := codec.CheckName(name); err != nil {
			return fmt.Errorf("%w: %w", lock.ErrInvalid, err)
		}
	}
	if len(names) == 0 {
		<-ctx.Done()
		return nil
	}
	watch()
	return nil
}

func pace() follow.Pace {
	p := follow.DefaultPace()
	p.Jitter = rand.Float64
	p.RetryAfter = retryAfter
	return p
}

// source lists and streams the namespace, as a whole and name by name.
type source[O Object] struct {
	*Objects[O]
	// seconds is how long streams last. The streams of several names share it, so that they end
	// together and break once.
	seconds int
}

func (s *Objects[O]) source() source[O] {
	return source[O]{s, watchSeconds + rand.IntN(watchSeconds)}
}

// List implements follow.Source: a list without resourceVersion, which is consistent.
func (s source[O]) List(ctx context.Context, goesOn func()) (follow.List, error) {
	entries, at, err := s.list(ctx, s.PageSize, goesOn)
	if isExpired(err) {
		// The revision of the first page expired meanwhile. Read the list in one page: that cannot expire.
		entries, at, err = s.list(ctx, 0, goesOn)
	}
	if err != nil {
		return follow.List{}, s.readError(err)
	}
	return follow.List{Entries: entries, Revision: at}, nil
}

func (s source[O]) list(ctx context.Context, limit int, goesOn func()) ([]lock.Entry, uint64, error) {
	var entries []lock.Entry
	more := ""
	for {
		req := s.selected(s.request(s.Client.RESTClient().Get()))
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
		goesOn()
	}
}

func (s source[O]) page(ctx context.Context, req *rest.Request) (entries []lock.Entry, more string, at uint64, err error) {
	page := s.NewList()
	if err := req.Do(ctx).Into(page); err != nil {
		return nil, "", 0, err
	}
	err = meta.EachListItem(page, func(item runtime.Object) error {
		o, ok := item.(O)
		if !ok {
			return fmt.Errorf("list shows a %T", item)
		}
		e, err := s.entry(o)
		entries = append(entries, e)
		return err
	})
	if err != nil {
		return nil, "", 0, err
	}
	at, err = revision(page.GetResourceVersion())
	return entries, page.GetContinue(), at, err
}

// ListName implements follow.Named.
func (s source[O]) ListName(ctx context.Context, name string, at uint64) ([]lock.Entry, uint64, error) {
	req := named(s.request(s.Client.RESTClient().Get()), name)
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
func (s source[O]) Open(ctx context.Context, after uint64) (follow.Stream, error) {
	return s.open(ctx, s.selected(s.request(s.Client.RESTClient().Get())), after)
}

// selected restricts a list or watch to what the selector picks.
func (s source[O]) selected(req *rest.Request) *rest.Request {
	if s.Selector == "" {
		return req
	}
	return req.Param("labelSelector", s.Selector)
}

// OpenName implements follow.Named.
func (s source[O]) OpenName(ctx context.Context, name string, after uint64) (follow.Stream, error) {
	return s.open(ctx, named(s.request(s.Client.RESTClient().Get()), name), after)
}

// named restricts a list or watch to one object, so that a role bound to names suffices.
func named(req *rest.Request, name string) *rest.Request {
	return req.Param("fieldSelector", "metadata.name="+name)
}

func (s source[O]) open(ctx context.Context, req *rest.Request, after uint64) (follow.Stream, error) {
	opened := time.Now()
	w, err := req.
		Param("watch", "true").
		Param("allowWatchBookmarks", "true").
		Param("resourceVersion", strconv.FormatUint(after, 10)).
		Param("timeoutSeconds", strconv.Itoa(s.seconds)).
		Watch(ctx)
	if err != nil {
		return nil, s.streamError(err)
	}
	st := &stream[O]{source: s, events: w, over: opened.Add(time.Duration(s.seconds) * time.Second)}
	if err := st.peek(); err != nil {
		st.Close()
		return nil, err
	}
	return st, nil
}

// streamError maps why a stream was not opened, or ended.
func (s source[O]) streamError(err error) error {
	if isExpired(err) {
		return fmt.Errorf("%w: %w", follow.ErrExpired, s.readError(err))
	}
	return s.readError(err)
}

// stream is a watch that is open. The goroutine that reads it owns it.
type stream[O Object] struct {
	source[O]
	events watch.Interface
	first  *lock.Event
	// over is when the server ends the stream because we asked it to.
	over time.Time
}

// peek checks whether the stream has failed already: client-go turns some failed requests into
// a stream without events, and the server reports an expired revision as an event.
func (st *stream[O]) peek() error {
	select {
	case e, open := <-st.events.ResultChan():
		event, err := st.event(received{e, open})
		if err != nil {
			return err
		}
		st.first = &event
	default:
	}
	return nil
}

// Next implements follow.Stream.
func (st *stream[O]) Next(ctx context.Context) (lock.Event, error) {
	if st.first != nil {
		e := *st.first
		st.first = nil
		return e, nil
	}
	select {
	case <-ctx.Done():
		return lock.Event{}, wrap(lock.ErrUnknown, ctx.Err())
	case e, open := <-st.events.ResultChan():
		return st.event(received{e, open})
	}
}

// Close implements follow.Stream. It waits until client-go's goroutine is gone.
func (st *stream[O]) Close() {
	st.events.Stop()
	for range st.events.ResultChan() {
	}
}

// received is what a stream showed: an event, or that it was closed.
type received struct {
	watch.Event
	open bool
}

func (st *stream[O]) event(e received) (lock.Event, error) {
	if !e.open && !time.Now().Before(st.over) {
		return lock.Event{}, lock.ErrEnded
	}
	if !e.open {
		return lock.Event{}, wrap(lock.ErrUnknown, fmt.Errorf("watch closed: %w", io.EOF))
	}
	if e.Type == watch.Error {
		return lock.Event{}, st.streamError(apierrors.FromObject(e.Object))
	}
	o, ok := e.Object.(O)
	if !ok {
		return lock.Event{}, wrap(lock.ErrUnknown, fmt.Errorf("watch shows a %T", e.Object))
	}
	shown, err := st.shown(e.Type, o)
	if err != nil {
		return lock.Event{}, wrap(lock.ErrUnknown, err)
	}
	return shown, nil
}

func (st *stream[O]) shown(t watch.EventType, o O) (lock.Event, error) {
	switch t {
	case watch.Added, watch.Modified:
		e, err := st.entry(o)
		return lock.Event{Kind: lock.Changed, Entry: e}, err
	case watch.Deleted:
		at, err := revision(o.GetResourceVersion())
		return lock.Event{Kind: lock.Changed, Entry: lock.Entry{Name: o.GetName(), Version: record.Version{Revision: at}}}, err
	case watch.Bookmark:
		at, err := revision(o.GetResourceVersion())
		return lock.Event{Kind: lock.Progressed, Revision: at}, err
	}
	return lock.Event{}, fmt.Errorf("unknown watch event %q", t)
}
