package follow

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

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
func Names(store Named, names []string) Source {
	names = slices.Clone(names)
	slices.Sort(names)
	return &several{store: store, names: slices.Compact(names), at: map[string]uint64{}}
}

// several is what Names returns. It belongs to the goroutine of Run.
type several struct {
	store Named
	names []string
	// at is the revision up to which each name's changes were shown.
	at map[string]uint64
}

// List implements Source. It reads the first name consistently, and the others at that revision.
func (s *several) List(ctx context.Context, goesOn func()) ([]lock.Entry, uint64, error) {
	var all []lock.Entry
	var at uint64
	for i, name := range s.names {
		entries, revision, err := s.store.ListName(ctx, name, at)
		if err != nil {
			return nil, 0, err
		}
		if at != 0 && revision != at {
			return nil, 0, fmt.Errorf("%w: asked for %s at revision %d, got it at %d", lock.ErrUnknown, name, at, revision)
		}
		at = revision
		all = append(all, entries...)
		if i < len(s.names)-1 {
			goesOn()
		}
	}
	for _, name := range s.names {
		s.at[name] = at
	}
	return all, at, nil
}

// mostOpenings is how many streams of names we open at a time. One after the other, many names on a slow store would
// take longer than Run waits for the opening of all. All at once, they would be a burst that a store throttles.
const mostOpenings = 16

// Open implements Source. It uses each name's own position in place of after.
func (s *several) Open(ctx context.Context, _ uint64) (Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	m := &merged{several: s, cancel: cancel, shown: make(chan shown)}
	if err := m.open(ctx); err != nil {
		m.Close()
		return nil, err
	}
	for i, stream := range m.streams {
		m.readers.Go(func() { m.read(ctx, s.names[i], stream) })
	}
	return m, nil
}

// merged is one stream made of several. Close joins its readers.
type merged struct {
	*several
	cancel  context.CancelFunc
	streams []Stream
	readers sync.WaitGroup
	shown   chan shown
}

type shown struct {
	name  string
	event lock.Event
	err   error
}

// open opens a stream for each name, mostOpenings at a time. It returns once all openers have stopped. The first error
// cancels all openings.
func (m *merged) open(ctx context.Context) error {
	streams := make([]Stream, len(m.names))
	var openers errgroup.Group
	openers.SetLimit(mostOpenings)
	for i, name := range m.names {
		openers.Go(func() error {
			stream, err := m.store.OpenName(ctx, name, m.at[name])
			if err != nil {
				m.cancel()
				return err
			}
			streams[i] = stream
			return nil
		})
	}
	err := openers.Wait()
	m.streams = slices.DeleteFunc(streams, func(s Stream) bool { return s == nil })
	return err
}

// read forwards the events of one name's stream until it ends.
func (m *merged) read(ctx context.Context, name string, stream Stream) {
	for {
		e, err := stream.Next(ctx)
		select {
		case m.shown <- shown{name, e, err}:
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
