package runners

import (
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
)

// Figures count what the runners of one election do. They outlive terms. Any goroutine may read
// them.
type Figures struct {
	election string

	mu      sync.Mutex
	runners []Figure
}

// Figure is the count for one runner.
type Figure struct {
	Election, Runner, Kind string
	// Starts counts the runner's runs, also those of work that always runs. Failures counts, by
	// reason, the runs that ended before the stop of the term's runners began.
	Starts   int
	Failures map[Failure]int
	// Restarts counts the runs that were begun again in the same term, or of work that always runs.
	Restarts int
	// Running says whether a run is under way.
	Running bool
	// RestartWait is the present wait before its next run; zero while it does not wait.
	RestartWait time.Duration
	// LastStop is how long the runner's last stop took, from the order to stop until the runner
	// returned; zero before the first stop.
	LastStop time.Duration
}

// Add adds the counts of another runner.
func (f *Figure) Add(o Figure) {
	f.Starts += o.Starts
	f.Restarts += o.Restarts
	for why, n := range o.Failures {
		f.Failures[why] += n
	}
}

// Failure is why a run ended before the stop began.
type Failure string

const (
	// FailureReturned: it returned without an error. FailureError: with one.
	FailureReturned Failure = "returned"
	FailureError    Failure = "error"
	// FailurePanic: it panicked, or ended its goroutine.
	FailurePanic Failure = "panic"
	// FailureDeadline: the term's deadline came without an extension.
	FailureDeadline Failure = "deadline"
	// FailureMemory: the kernel killed it because no memory was left for it.
	FailureMemory Failure = "memory"
)

// NewFigures makes the Figures of an election's Supervision.
func NewFigures(election string) *Figures { return &Figures{election: election} }

// Read copies all counts, in the order of the runners.
func (f *Figures) Read() []Figure {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]Figure, len(f.runners))
	for i, r := range f.runners {
		all[i] = r
		all[i].Failures = maps.Clone(r.Failures)
	}
	return all
}

// of adds a runner, and returns its counter.
func (f *Figures) of(c Child) *counter {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runners = append(f.runners, Figure{Election: f.election, Runner: c.Name, Kind: c.Kind, Failures: map[Failure]int{}})
	return &counter{f, len(f.runners) - 1}
}

// counter counts one runner.
type counter struct {
	figures *Figures
	at      int
}

func (c *counter) note(what func(*Figure)) {
	c.figures.mu.Lock()
	defer c.figures.mu.Unlock()
	what(&c.figures.runners[c.at])
}

func (c *counter) started() {
	c.note(func(f *Figure) { f.Starts++; f.Running, f.RestartWait = true, 0 })
}

func (c *counter) ended() { c.note(func(f *Figure) { f.Running = false }) }

func (c *counter) failed(err error) { c.note(func(f *Figure) { f.Failures[failureOf(err)]++ }) }

func (c *counter) waits(d time.Duration) { c.note(func(f *Figure) { f.RestartWait = d }) }

func (c *counter) restarted() { c.note(func(f *Figure) { f.Restarts++ }) }

func (c *counter) stopped(took time.Duration) {
	c.note(func(f *Figure) { f.LastStop = max(took, time.Nanosecond) })
}

func failureOf(err error) Failure {
	var panicked *panicError
	switch {
	case errors.Is(err, ErrDeadline):
		return FailureDeadline
	case errors.Is(err, ErrMemory):
		return FailureMemory
	case errors.Is(err, errReturned):
		return FailureReturned
	case errors.Is(err, election.ErrGoexit), errors.As(err, &panicked):
		return FailurePanic
	}
	return FailureError
}
