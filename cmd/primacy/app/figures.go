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
}

func (f *figures) add(election string, of *runners.Figures) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string]*runners.Figures{}
	}
	f.of[election] = of
}

func (f *figures) remove(election string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, election)
}

// Figures returns the counters, for the metrics.
func (f *figures) Figures() []*runners.Figures {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.of))
}
