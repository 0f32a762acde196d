package app

import (
	"maps"
	"slices"
	"sync"

	"github.com/primacy-dev/primacy/pkg/runners"
)

// figures are the counters of the runners of the present elections. The counters of an
// election begin anew when the election changes.
type figures struct {
	mu sync.Mutex
	of map[string]*runners.Figures
	// earlier has the sums of the counters that are gone, by kind.
	earlier map[string]*runners.Figure
}

func (f *figures) add(election string, of *runners.Figures) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string]*runners.Figures{}
	}
	f.keepLocked(election)
	f.of[election] = of
}

func (f *figures) remove(election string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keepLocked(election)
	delete(f.of, election)
}

// keepLocked adds the counters of an election that goes to the earlier ones.
func (f *figures) keepLocked(election string) {
	gone := f.of[election]
	if gone == nil {
		return
	}
	if f.earlier == nil {
		f.earlier = map[string]*runners.Figure{}
	}
	for _, one := range gone.Read() {
		sum := f.earlier[one.Kind]
		if sum == nil {
			sum = &runners.Figure{Kind: one.Kind, Failures: map[runners.Failure]int{}}
			f.earlier[one.Kind] = sum
		}
		sum.Add(one)
	}
}

// Earlier returns the sums of the counters of elections that are gone.
func (f *figures) Earlier() (sums []runners.Figure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, sum := range f.earlier {
		one := *sum
		one.Failures = maps.Clone(sum.Failures)
		sums = append(sums, one)
	}
	return sums
}

// Figures returns the counters, for the metrics.
func (f *figures) Figures() []*runners.Figures {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.of))
}
