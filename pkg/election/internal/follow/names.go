package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// Named is a store that can show one object at a time. Several goroutines may call OpenName at once.
type Named interface {
	// ListName returns one object, or none, and the revision of the answer. If at is 0, it is a
	// consistent read of the present; else the revision is at. The error wraps ErrExpired if the
	// store no longer knows that revision.
	ListName(ctx context.Context, name string, at uint64) ([]lock.Entry, uint64, error)
	// OpenName is Source.Open for one object.
	OpenName(ctx context.Context, name string, after uint64) (Stream, error)
}

// Names is a source of the named objects only, for one Run. A list shows all of them at one revision. A
// stream merges one stream for each name. The merged streams end together, and each resumes from its own
// position: events come in the order of the store for each object, not across objects.
//
// Names that the store denies hold up no others: lists and streams leave them out, and say so. The store is asked for them again every askAgain.
func Names(store Named, names []string) Source {
	names = slices.Clone(names)
	slices.Sort(names)
	return &several{store: store, names: slices.Compact(names), at: map[string]uint64{}, denied: map[string]error{}}
}

// askAgain is how often the store is asked for a name that it denied.
const askAgain = 10 * time.Second

// several is what Names returns. It belongs to the goroutine of Run.
type several struct {
	store Named
	names []string
	// at is the revision up to which each name's changes were shown.
	at map[string]uint64
	// denied are the names that lists and streams leave out, and how the store denied them.
	denied map[string]error
}

// shown are the names that the store does not deny.
func (s *several) shown() []string {
	return slices.DeleteFunc(slices.Clone(s.names), func(name string) bool { return s.denied[name] != nil })
}

// List implements Source. It reads the first name consistently, and the others at that revision. It is an error if the store denies
// all names.
func (s *several) List(ctx context.Context, goesOn func()) (List, error) {
	if len(s.denied) == len(s.names) {
		clear(s.denied) // nothing is shown, so nothing asks for them again
	}
	var out List
	names := s.shown()
	for i, name := range names {
		entries, revision, err := s.store.ListName(ctx, name, out.Revision)
		switch {
		case errors.Is(err, lock.ErrDenied):
			s.denied[name] = err
		case err != nil:
			return List{}, err
		case out.Revision != 0 && revision != out.Revision:
			return List{}, fmt.Errorf("%w: asked for %s at revision %d, got it at %d", lock.ErrUnknown, name, out.Revision, revision)
		default:
			out.Revision = revision
			out.Entries = append(out.Entries, entries...)
		}
		if i < len(names)-1 {
			goesOn()
		}
	}
	for _, name := range s.names {
		if err := s.denied[name]; err != nil {
			out.Denied, out.Why = append(out.Denied, name), cmp.Or(out.Why, err)
		}
		s.at[name] = out.Revision
	}
	if len(out.Denied) == len(s.names) {
		return List{}, out.Why
	}
	return out, nil
}

// mostOpenings is how many streams of names we open at a time. One after the other, many names on a slow store would
// take longer than Run waits for the opening of all. All at once, they would be a burst that a store throttles.
const mostOpenings = 16

// Open implements Source. It uses each name's own position in place of after.
func (s *several) Open(ctx context.Context, _ uint64) (Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	m := &merged{several: s, cancel: cancel, names: s.shown(), shown: make(chan shown)}
	if err := m.open(ctx); err != nil {
		m.Close()
		return nil, err
	}
	for i, stream := range m.streams {
		m.readers.Go(func() { m.read(ctx, m.names[i], stream) })
	}
	if denied := slices.Sorted(maps.Keys(s.denied)); len(denied) > 0 {
		m.readers.Go(func() { m.ask(ctx, denied) })
	}
	return m, nil
}

// merged is one stream made of several. Close joins its readers.
type merged struct {
	*several
	cancel context.CancelFunc
	// names are those of the streams.
	names   []string
	streams []Stream
	readers sync.WaitGroup
	shown   chan shown
}

// shown is an event of a name's stream, or its end. permitted: the store does not deny the name any more.
type shown struct {
	name      string
	event     lock.Event
	err       error
	permitted bool
}

// open opens a stream for each name, mostOpenings at a time. It returns once all openers have stopped. The first error
// cancels all openings, unless the store denies a name: then the others need a new list, which leaves that name out.
func (m *merged) open(ctx context.Context) error {
	streams, denied := make([]Stream, len(m.names)), make([]error, len(m.names))
	var openers errgroup.Group
	openers.SetLimit(mostOpenings)
	for i, name := range m.names {
		openers.Go(func() error {
			stream, err := m.store.OpenName(ctx, name, m.at[name])
			switch {
			case errors.Is(err, lock.ErrDenied):
				denied[i] = err
				return nil
			case err != nil:
				m.cancel()
				return err
			}
			streams[i] = stream
			return nil
		})
	}
	err := openers.Wait()
	m.streams = slices.DeleteFunc(streams, func(s Stream) bool { return s == nil })
	for i, name := range m.names {
		if denied[i] != nil {
			m.denied[name] = denied[i]
			err = cmp.Or(err, fmt.Errorf("%w: %w", ErrExpired, denied[i]))
		}
	}
	return err
}

// ask asks the store for the names that it denied, until it permits one of them.
func (m *merged) ask(ctx context.Context, denied []string) {
	for clock.Wait(ctx, askAgain) {
		for _, name := range denied {
			if !m.permitted(ctx, name) {
				continue
			}
			select {
			case m.shown <- shown{name: name, err: fmt.Errorf("%w: %w: %s is not denied any more", ErrExpired, lock.ErrEnded, name), permitted: true}:
			case <-ctx.Done():
			}
			return
		}
	}
}

// permitted says whether the store shows the name.
func (m *merged) permitted(ctx context.Context, name string) bool {
	_, at, err := m.store.ListName(ctx, name, 0)
	if err != nil {
		return false
	}
	stream, err := m.store.OpenName(ctx, name, at)
	if err != nil {
		return false
	}
	stream.Close()
	return true
}

// read forwards the events of one name's stream until it ends.
func (m *merged) read(ctx context.Context, name string, stream Stream) {
	for {
		e, err := stream.Next(ctx)
		select {
		case m.shown <- shown{name: name, event: e, err: err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// Next implements Stream.
func (m *merged) Next(ctx context.Context) (lock.Event, error) {
	var next shown
	select {
	case next = <-m.shown:
	case <-ctx.Done():
		return lock.Event{}, fmt.Errorf("%w: %w", lock.ErrUnknown, ctx.Err())
	}
	if next.permitted {
		delete(m.denied, next.name)
	}
	if next.err != nil {
		return lock.Event{}, next.err
	}
	e := next.event
	switch e.Kind {
	case lock.Changed:
		m.at[next.name] = e.Entry.Version.Revision
	case lock.Progressed:
		m.at[next.name] = e.Revision
		e.Revision = m.least()
	}
	return e, nil
}

// least is the revision up to which all names' changes were shown.
func (m *merged) least() uint64 {
	least := m.at[m.names[0]]
	for _, name := range m.names {
		least = min(least, m.at[name])
	}
	return least
}

// Close implements Stream.
func (m *merged) Close() {
	m.cancel()
	m.readers.Wait()
	for _, s := range m.streams {
		s.Close()
	}
}
