package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// result is all that a run of the table measured, as --json keeps it. Durations are
// nanoseconds, rates are per second, CPU is percent of one core, memory is bytes.
type result struct {
	Began                 time.Time
	Took                  time.Duration
	Size, Profile         string
	Cores                 int
	Fsync                 bool
	LoadBefore, LoadAfter string
	// Failed are phases that could not be measured, and why.
	Failed []string `json:",omitempty"`

	// Update and Event are the physical limit: a bare update, and an update until another
	// client's watch shows it.
	Update, Event sample
	// Rested is the latter of an API server that had nothing to do before.
	Rested sample
	// Base is what the API server asks of itself; it is taken off all that follow.
	Base float64

	Moves  []move
	Cold   cold
	Retake retake
	Idle   []idle
	// Conflicts are those that handovers among many followers met.
	Conflicts []conflicts

	// Terms, Overlaps and Falling are the judge's: of the trials of P2, and of all.
	P2, All exclusive
	// Early counts takeovers before the validity of the dead had ended.
	Early int
}

// exclusive is what the judge said.
type exclusive struct{ Terms, Overlaps, Falling int }

func (e *exclusive) add(v verdict) {
	e.Terms += v.terms
	e.Overlaps += len(v.overlaps)
	e.Falling += len(v.falling)
}

// contender is who is measured.
type contender string

const (
	primacy  contender = "Primacy"
	program  contender = "primacy run"
	byRecord contender = "Primacy, renewal by record"
	clientGo contender = "client-go"
)

// move is how long leadership took to move, in each trial.
type move struct {
	// Target is the row of the targets that it belongs to.
	Target, What string
	Who          contender
	// Burst: many elections moved at once, and waited for each other's writes.
	Burst bool `json:",omitempty"`
	Took  sample
}

// alone is how fast the API server creates and updates what one client sends it.
type alone struct{ Creates, Updates float64 }

// cold is how many elections one member won that nobody had held.
type cold struct {
	Elections int
	// Took is from the start of the process to the last one led.
	Took  time.Duration
	Codes map[string]float64
	// Alone was measured just before.
	Alone alone
}

// retake is how fast the elections of a killed member were led again.
type retake struct {
	Elections int
	// Took is from the first to the last.
	Took  time.Duration
	Codes map[string]float64
	// Alone was measured just before.
	Alone alone
}

// idle is what a company costs while nothing happens. The first member leads everything.
type idle struct {
	Who                contender
	Elections, Members int
	// Requests are those of all members in a second.
	Requests   float64
	CPU        []float64
	RSS, Heap  []uint64
	Goroutines []int
}

// conflicts are writes that met another's.
type conflicts struct {
	Who                  contender
	Followers, Handovers int
	Conflicts            float64
}

func (r *result) save(file string) error {
	data, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = os.WriteFile(file, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	return nil
}

func loadResult(file string) (*result, error) {
	r := &result{}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, r)
	}
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	return r, nil
}
