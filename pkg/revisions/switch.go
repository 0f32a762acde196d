package revisions

import (
	"context"
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Switch is a source that wraps another source, which may be exchanged at any time. The last value of
// the old source stays until the new source delivers. Any goroutine may call its methods.
//
// Goroutines: each source works on a goroutine of its own. When the source is exchanged, its context ends. If its Watch, which may wait
// for a disk, has not returned a second later, the Switch leaves the goroutine behind: it ends when the source's Watch
// returns, even if that is after the Switch's own, and what it delivers does not count. When the Switch's own context ends,
// the Switch waits for the present source without a bound; a Manager bounds that.
type Switch struct {
	mu     sync.Mutex
	source election.Preferences
	// exchanged closes when source has been replaced.
	exchanged chan struct{}
}

var (
	_ election.Preferences = (*Switch)(nil)
	_ Dated                = (*Switch)(nil)
	_ Writer               = (*Switch)(nil)
)

// NewSwitch wraps source; nil means that no revision is preferred.
func NewSwitch(source election.Preferences) *Switch {
	return &Switch{source: source, exchanged: make(chan struct{})}
}

// Use exchanges the source; nil means that no revision is preferred.
func (s *Switch) Use(source election.Preferences) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.source = source
	close(s.exchanged)
	s.exchanged = make(chan struct{})
}

// Freshness returns the freshness of the present source; a source that is not Dated is always fresh.
func (s *Switch) Freshness() Freshness {
	source, _ := s.present()
	if dated, ok := source.(Dated); ok {
		return dated.Freshness()
	}
	return Freshness{Known: true}
}

// Write writes the present source's value. It returns ErrNotWritable if that source is not a Writer.
func (s *Switch) Write(ctx context.Context, from, to string) error {
	source, _ := s.present()
	if w, ok := source.(Writer); ok {
		return w.Write(ctx, from, to)
	}
	return ErrNotWritable
}

func (s *Switch) present() (election.Preferences, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source, s.exchanged
}

// Watch implements election.Preferences. It returns the present source's error, if any.
func (s *Switch) Watch(ctx context.Context, deliver func(election.Preference)) error {
	for ctx.Err() == nil {
		source, exchanged := s.present()
		if source == nil {
			source = nothing{}
		}
		if err := watchUntil(ctx, exchanged, source, deliver); err != nil {
			return err
		}
	}
	return nil
}

// exchangeGrace is how long an exchanged source may take to return.
const exchangeGrace = time.Second

// watchUntil watches a source until it is exchanged or ctx ends.
func watchUntil(ctx context.Context, exchanged <-chan struct{}, source election.Preferences, deliver func(election.Preference)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	said, over, left := make(chan election.Preference), make(chan error, 1), make(chan struct{})
	defer close(left)
	go func() { // joined below, unless its source is exchanged and hangs
		over <- source.Watch(ctx, func(p election.Preference) {
			select {
			case said <- p:
			case <-left:
			}
		})
	}()
	var late <-chan struct{}
	for {
		select {
		case p := <-said:
			deliver(p)
		case err := <-over:
			if err != nil && ctx.Err() == nil {
				return err
			}
			select { // the source has nothing more to say: don't watch it again
			case <-exchanged:
			case <-ctx.Done():
			}
			return nil
		case <-exchanged:
			exchanged = nil
			cancel()
			grace := clock.NewTimer(exchangeGrace)
			defer grace.Stop()
			late = grace.C
		case <-late:
			return nil
		}
	}
}

// nothing prefers no revision.
type nothing struct{}

func (nothing) Watch(ctx context.Context, deliver func(election.Preference)) error {
	deliver(record.Prefer(""))
	<-ctx.Done()
	return nil
}
