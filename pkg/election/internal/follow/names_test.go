package follow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/follow"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// shelf is a store that shows its objects one by one. It records its calls in asked.
type shelf struct {
	asked []string
	// revision is the revision of the last consistent read. gone are names whose past the store has lost,
	// once each. drift: it answers at another revision than asked for.
	revision uint64
	gone     map[string]bool
	drift    bool
	// denies says which calls the store denies, at so long after the begin; nil for none.
	denies func(call string, at time.Duration) bool
	begun  time.Time
	// streams are the successive streams of each name.
	streams map[string][]step
	open    int
	// torn counts streams that were closed during a read.
	torn int
	// opens is how long it takes to open a stream. opening is how many streams are being opened, and most is the
	// largest number so far.
	opens         time.Duration
	opening, most int
	mu            sync.Mutex // guards what OpenName uses, since several goroutines call it
}

func (s *shelf) ListName(_ context.Context, name string, at uint64) ([]lock.Entry, uint64, error) {
	s.asked = append(s.asked, fmt.Sprintf("list %s %d", name, at))
	if s.denied("list " + name) {
		return nil, 0, fmt.Errorf("%s: %w", name, lock.ErrDenied)
	}
	if s.gone[name] {
		delete(s.gone, name)
		return nil, 0, errExpired
	}
	if at == 0 {
		s.revision++
		at = s.revision
	} else if s.drift {
		at++
	}
	return []lock.Entry{{Name: name, Version: record.Version{UID: "u", Revision: at - 1}}}, at, nil
}

func (s *shelf) denied(call string) bool {
	return s.denies != nil && s.denies(call, time.Since(s.begun))
}

func (s *shelf) OpenName(ctx context.Context, name string, after uint64) (follow.Stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opens > 0 {
		s.opening++
		s.most = max(s.most, s.opening)
		s.mu.Unlock()
		waited := clock.Wait(ctx, s.opens)
		s.mu.Lock()
		s.opening--
		if !waited {
			return nil, context.Cause(ctx)
		}
	}
	s.asked = append(s.asked, fmt.Sprintf("watch %s %d", name, after))
	if s.denied("watch " + name) {
		return nil, fmt.Errorf("%s: %w", name, lock.ErrDenied)
	}
	st := step{lives: 24 * time.Hour}
	if left := s.streams[name]; len(left) > 0 {
		st, s.streams[name] = left[0], left[1:]
	}
	if st.refuse {
		return nil, st.err
	}
	s.open++
	return &part{name: name, step: st, shelf: s}, nil
}

type part struct {
	name string
	step
	shelf   *shelf
	reading atomic.Int32
}

func (p *part) Next(ctx context.Context) (lock.Event, error) {
	p.reading.Add(1)
	defer p.reading.Add(-1)
	if len(p.events) > 0 {
		e := p.events[0]
		p.events = p.events[1:]
		if e.Kind == lock.Changed {
			e.Entry.Name = p.name
		}
		return e, nil
	}
	select {
	case <-ctx.Done():
		return lock.Event{}, ctx.Err()
	case <-clock.NewTimer(p.lives).C:
		return lock.Event{}, p.err
	}
}

func (p *part) Close() {
	p.shelf.open--
	if p.reading.Load() > 0 {
		p.shelf.torn++
	}
}

// run follows the names for an hour, and returns the events as lines, in order of time.
func run(t *testing.T, s *shelf, names ...string) (shown []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		s.begun = start
		follow.Run(ctx, follow.Names(s, names), follow.DefaultPace(), func(e lock.Event) {
			at := time.Since(start)
			l := line(at, e)
			if e.Kind == lock.Changed {
				l += " " + e.Entry.Name
			}
			shown = append(shown, l)
		})
		if s.open != 0 {
			t.Errorf("%d streams are left open", s.open)
		}
		if s.torn != 0 {
			t.Errorf("%d streams were closed while they were read", s.torn)
		}
	})
	return shown
}

func TestNames(t *testing.T) {
	minute := time.Minute
	for what, c := range map[string]struct {
		shelf        *shelf
		asked, shown string
	}{
		"one revision for all": {
			&shelf{revision: 4},
			"list a 0, list b 5, watch a 5, watch b 5",
			"0 listing, 0 progressed *, 0 listed 5, 0 resumed",
		},
		"each resumes where it was": {
			&shelf{revision: 4, streams: map[string][]step{
				"a": {{events: []lock.Event{change(9)}, lives: minute, err: errCut}},
				"b": {{events: []lock.Event{progress(7)}, lives: 24 * time.Hour}},
			}},
			"list a 0, list b 5, watch a 5, watch b 5, watch a 9, watch b 7",
			"0 listing, 0 progressed *, 0 listed 5, 0 resumed, 0 changed 9 a, 0 progressed *, 60000 broken cut, 60000 resumed",
		},
		"one that has lost the past costs a list of all": {
			&shelf{revision: 4, streams: map[string][]step{
				"a": {{events: []lock.Event{change(9)}, lives: 24 * time.Hour}},
				"b": {{lives: minute, err: errExpired}},
			}},
			"list a 0, list b 5, watch a 5, watch b 5, list a 0, list b 6, watch a 6, watch b 6",
			"0 listing, 0 progressed *, 0 listed 5, 0 resumed, 0 changed 9 a, 60000 broken gone: revision expired, 60000 listing, 0 progressed *, 60000 listed 6, 60000 resumed",
		},
		"one that cannot be opened closes the others": {
			&shelf{revision: 4, streams: map[string][]step{"b": {{refuse: true, err: errCut}}}},
			"list a 0, list b 5, watch a 5, watch b 5, watch a 5, watch b 5",
			"0 listing, 0 progressed *, 0 listed 5, 0 broken cut, 0 resumed",
		},
		"a list whose revision is lost begins anew": {
			&shelf{revision: 4, gone: map[string]bool{"b": true}},
			"list a 0, list b 5, list a 0, list b 6, watch a 6, watch b 6",
			"0 listing, 0 progressed *, 0 broken gone: revision expired, 0 listing, 0 progressed *, 0 listed 6, 0 resumed",
		},
	} {
		t.Run(what, func(t *testing.T) {
			shown := run(t, c.shelf, "b", "a", "b")
			for i, l := range shown {
				if strings.Contains(l, "progressed") {
					shown[i] = "0 progressed *"
				}
			}
			settle(shown)
			together(c.shelf.asked)
			if got := strings.Join(c.shelf.asked, ", "); got != c.asked {
				t.Errorf("asked %s\nwant  %s", got, c.asked)
			}
			if got := strings.Join(shown, ", "); got != c.shown {
				t.Errorf("shown %s\nwant  %s", got, c.shown)
			}
		})
	}
}

// settle sorts events of different names' streams that came at the same time.
func settle(shown []string) {
	news := func(l string) bool { return strings.Contains(l, "changed") || strings.Contains(l, "progressed") }
	for i := range shown {
		n := i
		for n < len(shown) && news(shown[n]) {
			n++
		}
		slices.Sort(shown[i:n])
	}
}

// together sorts each pair of openings: the streams of a and b are opened at once, in any order.
func together(asked []string) {
	for i := 1; i < len(asked); i++ {
		if strings.HasPrefix(asked[i-1], "watch") {
			slices.Sort(asked[i-1 : i+1])
			i++
		}
	}
}

// TestManyNamesOnASlowStore checks that several streams are opened at a time, so that all are open soon although each
// opens slowly, and no more than 16, so that they do not flood the store.
func TestManyNamesOnASlowStore(t *testing.T) {
	var names []string
	for n := range 200 {
		names = append(names, fmt.Sprintf("lock%03d", n))
	}
	s := &shelf{revision: 4, opens: 200 * time.Millisecond}
	var opened []string
	for _, l := range run(t, s, names...) {
		if !strings.Contains(l, "progressed") {
			opened = append(opened, l)
		}
	}
	if want := []string{"0 listing", "0 listed 5", "2600 resumed"}; !slices.Equal(opened, want) {
		t.Errorf("shown %v, want %v", opened[:min(len(opened), 9)], want)
	}
	if s.most != 16 {
		t.Errorf("%d streams were opened at a time, want 16", s.most)
	}
}

// TestDeniedNames checks that a name that the store denies holds up no other, and is shown once the store permits it. Each line is what the
// watch shows, after so many milliseconds.
func TestDeniedNames(t *testing.T) {
	second := time.Second
	lives := func(lives time.Duration) map[string][]step {
		return map[string][]step{"a": {{lives: lives, err: lock.ErrEnded}}, "b": {{lives: lives, err: lock.ErrEnded}}}
	}
	until := func(of string, from, till time.Duration) func(string, time.Duration) bool {
		return func(call string, at time.Duration) bool {
			return strings.HasSuffix(call, of) && at >= from && at < till
		}
	}
	for what, c := range map[string]struct {
		shelf *shelf
		shown []string
	}{
		"from the beginning": {
			&shelf{revision: 4, denies: until("b", 0, 25*second)},
			[]string{
				"0 listing", "0 listed 5 without [b] (b: denied)", "0 resumed",
				"30000 broken revision expired: the watch lasted as long as it was to: b is not denied any more", "30000 listing", "30000 listed 7", "30000 resumed",
			},
		},
		"the first of them": {
			&shelf{revision: 4, denies: until("a", 0, 5*second)},
			[]string{
				"0 listing", "0 listed 5 without [a] (a: denied)", "0 resumed",
				"10000 broken revision expired: the watch lasted as long as it was to: a is not denied any more", "10000 listing", "10000 listed 7", "10000 resumed",
			},
		},
		"later": {
			&shelf{revision: 4, denies: until("b", second, 85*second), streams: lives(time.Minute)},
			[]string{
				"0 listing", "0 listed 5", "0 resumed", "60000 broken the watch lasted as long as it was to",
				"60000 broken revision expired: b: denied", "60100 listing", "60100 listed 6 without [b] (b: denied)", "60100 resumed",
				"90100 broken revision expired: the watch lasted as long as it was to: b is not denied any more", "90100 listing", "90100 listed 8", "90100 resumed",
			},
		},
		"its stream alone": {
			&shelf{revision: 4, denies: until("watch b", 0, 15*second)},
			[]string{
				"0 listing", "0 listed 5", "0 broken revision expired: b: denied", "0 listing", "0 listed 6 without [b] (b: denied)", "0 resumed",
				"20000 broken revision expired: the watch lasted as long as it was to: b is not denied any more", "20000 listing", "20000 listed 9", "20000 resumed",
			},
		},
		"all of them": {
			&shelf{revision: 4, denies: until("", 0, second/20)},
			[]string{"0 listing", "0 broken a: denied", "0 listing", "0 broken a: denied", "100 listing", "100 listed 5", "100 resumed"},
		},
	} {
		t.Run(what, func(t *testing.T) {
			shown := slices.DeleteFunc(run(t, c.shelf, "a", "b"), func(l string) bool { return strings.Contains(l, "progressed") })
			if !slices.Equal(shown, c.shown) {
				t.Errorf("shown %s\nwant  %s", strings.Join(shown, ", "), strings.Join(c.shown, ", "))
			}
		})
	}
}

// TestNamesDrift checks that a list fails if the store answers at another revision than requested: the list
// would not be consistent.
func TestNamesDrift(t *testing.T) {
	s := &shelf{revision: 4, drift: true}
	if _, err := follow.Names(s, []string{"a", "b"}).List(t.Context(), func() {}); !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("got %v", err)
	}
}

// TestNamesProgress checks that the merged stream progresses only as far as its slowest name.
func TestNamesProgress(t *testing.T) {
	s := &shelf{revision: 4, streams: map[string][]step{
		"a": {{events: []lock.Event{progress(9), progress(11)}, lives: 24 * time.Hour}},
	}}
	shown := run(t, s, "a", "b")
	want := []string{"0 listing", "0 progressed 0", "0 listed 5", "0 resumed", "0 progressed 5", "0 progressed 5"}
	if !slices.Equal(shown, want) {
		t.Errorf("shown %v, want %v", shown, want)
	}
}

func TestOnly(t *testing.T) {
	var shown []lock.Event
	deliver := lock.Only([]string{"a"}, func(e lock.Event) { shown = append(shown, e) })
	list := []lock.Entry{{Name: "b"}, {Name: "a"}}
	deliver(lock.Event{Kind: lock.Listed, List: list, Revision: 5})
	deliver(lock.Event{Kind: lock.Changed, Entry: lock.Entry{Name: "b", Version: record.Version{UID: "u", Revision: 6}}})
	deliver(lock.Event{Kind: lock.Changed, Entry: lock.Entry{Name: "a", Version: record.Version{UID: "u", Revision: 7}}})
	deliver(lock.Event{Kind: lock.Broken, Err: errCut})
	if len(shown) != 4 || len(shown[0].List) != 1 || shown[0].List[0].Name != "a" || shown[0].Revision != 5 ||
		shown[1].Kind != lock.Progressed || shown[1].Revision != 6 || shown[1].Entry.Name != "" ||
		shown[2].Entry.Version.Revision != 7 || !errors.Is(shown[3].Err, errCut) {
		t.Errorf("shown %+v", shown)
	}
	if list[0].Name != "b" {
		t.Error("the list of another was changed")
	}
}
