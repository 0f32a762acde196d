package follow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/follow"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// script is a source that answers by its steps, then hangs.
type script struct {
	steps []step
	open  int
}

type step struct {
	revision uint64        // the answer of a list
	events   []lock.Event  // what a stream shows before it ends
	lives    time.Duration // how long a stream lives
	err      error
	list     bool
	refuse   bool // the stream is not even opened
}

func (s *script) take(ctx context.Context) (step, error) {
	if len(s.steps) == 0 {
		<-ctx.Done()
		return step{}, ctx.Err()
	}
	st := s.steps[0]
	s.steps = s.steps[1:]
	return st, nil
}

func (s *script) List(ctx context.Context, _ func()) (follow.List, error) {
	st, err := s.take(ctx)
	if err != nil {
		return follow.List{}, err
	}
	if !st.list {
		return follow.List{}, errors.New("unexpected list")
	}
	return follow.List{Revision: st.revision}, st.err
}

func (s *script) Open(ctx context.Context, after uint64) (follow.Stream, error) {
	st, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	if st.list {
		return nil, fmt.Errorf("unexpected stream after %d", after)
	}
	if st.refuse {
		return nil, st.err
	}
	if st.revision != after {
		return nil, fmt.Errorf("opened after %d, want %d", after, st.revision)
	}
	s.open++
	return &stream{script: s, step: st}, nil
}

type stream struct {
	*script
	step
}

func (s *stream) Next(ctx context.Context) (lock.Event, error) {
	if len(s.events) > 0 {
		e := s.events[0]
		s.events = s.events[1:]
		return e, nil
	}
	select {
	case <-ctx.Done():
		return lock.Event{}, ctx.Err()
	case <-clock.NewTimer(s.lives).C:
		return lock.Event{}, s.err
	}
}

func (s *stream) Close() { s.open-- }

func change(revision uint64) lock.Event {
	return lock.Event{Kind: lock.Changed, Entry: lock.Entry{Name: "a", Version: record.Version{Revision: revision}}}
}

func progress(revision uint64) lock.Event {
	return lock.Event{Kind: lock.Progressed, Revision: revision}
}

var (
	errCut     = errors.New("cut")
	errExpired = fmt.Errorf("gone: %w", follow.ErrExpired)
)

// pieces is a source whose list comes in three slow pieces.
type pieces struct {
	script
	each time.Duration
}

func (p *pieces) List(ctx context.Context, goesOn func()) (follow.List, error) {
	for range 3 {
		select {
		case <-clock.NewTimer(p.each).C:
			goesOn()
		case <-ctx.Done():
			return follow.List{}, context.Cause(ctx)
		}
	}
	return follow.List{Revision: 7}, nil
}

// TestListInPieces checks that Run waits for a list, however long it takes, as long as each piece comes in
// time.
func TestListInPieces(t *testing.T) {
	for each, want := range map[time.Duration]lock.EventKind{29 * time.Second: lock.Listed, 31 * time.Second: lock.Broken} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			follow.Run(ctx, &pieces{each: each}, follow.DefaultPace(), func(e lock.Event) {
				switch e.Kind {
				case lock.Listed, lock.Broken:
					if e.Kind != want {
						t.Errorf("pieces of %v: %v %v", each, e.Kind, e.Err)
					}
					cancel()
				}
			})
		})
	}
}

// TestRun compares what Run delivers with transcripts. Each line of a transcript is the time in milliseconds
// and the event.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		what  string
		steps []step
		pace  func(*follow.Pace)
		want  string
	}{
		{
			what: "a cut resumes after the last event, at once",
			steps: []step{
				{list: true, revision: 5},
				{revision: 5, events: []lock.Event{change(7), progress(9)}, lives: 2 * time.Second, err: errCut},
				{revision: 9, events: []lock.Event{change(10)}, lives: 2 * time.Second, err: errCut},
				{revision: 10, lives: time.Hour},
			},
			want: "0 listing; 0 listed 5; 0 resumed; 0 changed 7; 0 progressed 9; 2000 broken cut; 2000 resumed; 2000 changed 10; 4000 broken cut; 4000 resumed",
		},
		{
			what: "what is forgotten is listed, whether the stream says so or its opening",
			steps: []step{
				{list: true, revision: 5},
				{revision: 5, lives: 2 * time.Second, err: errExpired},
				{list: true, revision: 20},
				{revision: 20, lives: 2 * time.Second, err: errCut},
				{refuse: true, err: errExpired},
				{list: true, revision: 30},
				{revision: 30, lives: time.Hour},
			},
			want: "0 listing; 0 listed 5; 0 resumed; 2000 broken gone: revision expired; 2000 listing; 2000 listed 20; 2000 resumed; 4000 broken cut; " +
				"4000 broken gone: revision expired; 4100 listing; 4100 listed 30; 4100 resumed",
		},
		{
			what: "failures are paced, and a settled stream forgives them",
			steps: []step{
				{list: true, err: errCut}, {list: true, err: errCut}, {list: true, err: errCut},
				{list: true, revision: 5},
				{refuse: true, err: errCut},
				{revision: 5, events: []lock.Event{change(6)}, lives: time.Second, err: errCut},
				{revision: 6, events: []lock.Event{change(7)}, lives: time.Second - 1, err: errCut},
				{revision: 7, lives: time.Hour},
			},
			want: "0 listing; 0 broken cut; 0 listing; 0 broken cut; 100 listing; 100 broken cut; 300 listing; 300 listed 5; 300 broken cut; " +
				"700 resumed; 700 changed 6; 1700 broken cut; 1700 resumed; 1700 changed 7; 2699 broken cut; 2799 resumed",
		},
		{
			what: "streams that show nothing three times lead to a list",
			steps: []step{
				{list: true, revision: 5},
				{revision: 5, err: errCut}, {revision: 5, err: errCut}, {revision: 5, err: errCut},
				{list: true, revision: 8},
				{revision: 8, lives: time.Hour},
			},
			want: "0 listing; 0 listed 5; 0 resumed; 0 broken cut; 0 resumed; 0 broken cut; 100 resumed; 100 broken cut; 300 listing; 300 listed 8; 300 resumed",
		},
		{
			what: "a stream that shows something is not barren",
			steps: []step{
				{list: true, revision: 5},
				{revision: 5, err: errCut}, {revision: 5, err: errCut},
				{revision: 5, events: []lock.Event{progress(5)}, err: errCut},
				{revision: 5, err: errCut}, {revision: 5, lives: time.Hour},
			},
			want: "0 listing; 0 listed 5; 0 resumed; 0 broken cut; 0 resumed; 0 broken cut; 100 resumed; 100 progressed 5; 100 broken cut; " +
				"300 resumed; 300 broken cut; 700 resumed",
		},
		{
			what:  "a source may ask for time, within reason",
			steps: []step{{list: true, err: errCut}, {list: true, err: errExpired}, {list: true, revision: 1}, {revision: 1, lives: time.Hour}},
			pace: func(p *follow.Pace) {
				p.RetryAfter = func(err error) time.Duration {
					if errors.Is(err, follow.ErrExpired) {
						return time.Hour
					}
					return 7 * time.Second
				}
			},
			want: "0 listing; 0 broken cut; 1000 listing; 1000 broken gone: revision expired; 3000 listing; 3000 listed 1; 3000 resumed",
		},
		{
			what:  "jitter shortens a wait by up to half",
			steps: []step{{list: true, err: errCut}, {list: true, err: errCut}, {list: true, err: errCut}, {list: true, revision: 1}, {revision: 1, lives: time.Hour}},
			pace:  func(p *follow.Pace) { p.Jitter = func() float64 { return 0.5 } },
			want:  "0 listing; 0 broken cut; 0 listing; 0 broken cut; 75 listing; 75 broken cut; 225 listing; 225 listed 1; 225 resumed",
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pace := follow.DefaultPace()
				if c.pace != nil {
					c.pace(&pace)
				}
				s := &script{steps: c.steps}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				start := time.Now()
				var got []string
				follow.Run(ctx, s, pace, func(e lock.Event) { got = append(got, line(time.Since(start), e)) })
				if got := strings.Join(got, "; "); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
				if s.open != 0 {
					t.Errorf("%d streams are left open", s.open)
				}
			})
		})
	}
}

func line(at time.Duration, e lock.Event) string {
	s := fmt.Sprintf("%d %v", at.Milliseconds(), e.Kind)
	switch e.Kind {
	case lock.Changed:
		s += fmt.Sprintf(" %d", e.Entry.Version.Revision)
	case lock.Listed, lock.Progressed:
		s += fmt.Sprintf(" %d", e.Revision)
		if len(e.Denied) > 0 {
			s += fmt.Sprintf(" without %v (%v)", e.Denied, e.Err)
		}
	case lock.Broken:
		s += " " + e.Err.Error()
	}
	return s
}
