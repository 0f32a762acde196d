package runners

import (
	"errors"
	"maps"
	"sync"
	"time"
)

// Figures are what is counted of the runners of one election. They outlive terms, and may be
// read from any goroutine.
type Figures struct {
	election string

	mu      sync.Mutex
	runners []Figure
}

// Figure is what was counted of one runner.
type Figure struct {
	Election, Runner, Kind string
	// Starts counts its runs, of one that always runs too; Failures those that ended before
	// the stop of the term's runners began, by the reason.
	Starts   int
	Failures map[Failure]int
	// Running says whether a run is on.
	Running bool
	// RestartWait is how long it waits at present before it is run again; zero while it
	// does not wait.
	RestartWait time.Duration
	// LastStop is how long its last stop took, from when it was told to stop; zero before
	// the first.
	LastStop time.Duration
}

// Failure is why a run ended before the stop began.
type Failure string

const (
	// FailureReturned: without an error. FailureError: with one.
	FailureReturned Failure = "returned"
	FailureError    Failure = "error"
	// FailurePanic: it panicked, or ended its goroutine.
	FailurePanic Failure = "panic"
	// FailureDeadline: the term's deadline came without an extension.
	FailureDeadline Failure = "deadline"
)

// NewFigures makes the figures of an election, for its Supervision.
func NewFigures(election string) *Figures { return &Figures{election: election} }

// Read copies all that was counted, in the order of the runners.
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

// of adds a runner, and returns where it is counted.
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

func (c *counter) stopped(took time.Duration) {
	c.note(func(f *Figure) { f.LastStop = max(took, time.Nanosecond) })
}

func failureOf(err error) Failure {
	var panicked *panicError
	switch {
	case errors.Is(err, ErrDeadline):
		return FailureDeadline
	case errors.Is(err, errReturned):
		return FailureReturned
	case errors.Is(err, errGoexit), errors.As(err, &panicked):
		return FailurePanic
	}
	return FailureError
}
