package sim

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// Sweep runs the seeds first to first+n-1 on all cores. It returns the sum of the coverage, how many seconds were simulated, and
// the violation of the lowest failing seed if any. It stops once no lower seed can fail.
func Sweep(first, n uint64, o Options) (total Coverage, simulated float64, failed *Result) {
	var (
		next    atomic.Uint64
		mu      sync.Mutex
		workers sync.WaitGroup
	)
	stop := atomic.Uint64{}
	stop.Store(first + n)
	next.Store(first)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				seed := next.Add(1) - 1
				if seed >= stop.Load() {
					return
				}
				r := Run(seed, o)
				mu.Lock()
				total.Add(r.Coverage)
				simulated += r.Simulated
				if r.Violation != "" && (failed == nil || seed < failed.Seed) {
					failed = &r
					stop.Store(seed)
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return total, simulated, failed
}

// Explain runs a failed seed again, and returns what was violated and the end of the transcript.
func (r *Result) Explain() string {
	again := Run(r.Seed, Options{Class: r.Class, Transcript: 200})
	return fmt.Sprintf("seed %d (%v): %s\n%s\nto see all of it: %s", r.Seed, r.Class, r.Violation, again.Transcript, r.Replay())
}
