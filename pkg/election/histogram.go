package election

import (
	"slices"
	"sync/atomic"
	"time"
)

// bounds are the upper bounds of a Histogram's counts. They range from a write to an idle API server to the longest
// waits of the default timings.
var bounds = []time.Duration{
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second,
	15 * time.Second, time.Minute,
}

// Histogram counts durations.
type Histogram struct {
	// Bounds are upper bounds, in rising order. Counts has the number of durations up to each bound, and above the
	// bound before it; its last one is of those above all bounds.
	Bounds []time.Duration
	Counts []uint64
	Sum    time.Duration
}

// histogram is a Histogram that counts. Any goroutine may use it.
type histogram struct {
	counts [15]atomic.Uint64
	sum    atomic.Int64
}

func (h *histogram) note(d time.Duration) {
	d = max(0, d)
	at, _ := slices.BinarySearch(bounds, d)
	h.counts[at].Add(1)
	h.sum.Add(int64(d))
}

func (h *histogram) read() Histogram {
	read := Histogram{Bounds: bounds, Counts: make([]uint64, len(h.counts)), Sum: time.Duration(h.sum.Load())}
	for i := range h.counts {
		read.Counts[i] = h.counts[i].Load()
	}
	return read
}
