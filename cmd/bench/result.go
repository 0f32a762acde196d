package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// result is all that a run of the table measured, as in the file of --json. Durations are
// nanoseconds, rates are per second, CPU is percent of one core, memory is bytes.
type result struct {
	Began                 time.Time
	Took                  time.Duration
	Size, Profile         string
	Cores                 int
	Fsync                 bool
	LoadBefore, LoadAfter string
	// Failed are phases that failed, and why.
	Failed []string `json:",omitempty"`

	// Update and Event are the physical limit: a bare update, and an update until another
	// client's watch shows it.
	Update, Event sample
	// Rested is like Event, after the API server had been idle.
	Rested sample
	// Base is the rate of the API server's requests to itself; all later rates leave these out.
	Base float64

	Moves  []move
	Cold   cold
	Retake retake
	Idle   []idle
	// Conflicts are the conflicting writes in handovers with many followers.
	Conflicts []conflicts

	// Proved are the times in which all elections of a dead member were led again, one for each death.
	Proved proved
	Loop   loop

	// P2 and All are the judge's counts: P2 of the trials of that target, All of all trials.
	P2, All exclusive
	// Early counts takeovers before the validity of a dead member had ended.
	Early int
}

// exclusive counts the judge's findings.
type exclusive struct{ Terms, Overlaps, Falling int }

func (e *exclusive) add(v verdict) {
	e.Terms += v.terms
	e.Overlaps += len(v.overlaps)
	e.Falling += len(v.falling)
}

// contender is a program, or a way of renewal, that we measure.
type contender string

const (
	primacy    contender = "Primacy"
	program    contender = "primacy run"
	parentless contender = "primacy run --guard=false"
	byRecord   contender = "Primacy, renewal by record"
	clientGo   contender = "client-go"
)

// move is how long leadership took to move, in each trial.
type move struct {
	// Target is the row of the targets to which the move belongs.
	Target, What string
	Who          contender
	// Burst: many elections moved at once, and waited for each other's writes.
	Burst bool `json:",omitempty"`
	Took  sample
}

// alone is how fast the API server creates and updates objects for one client.
type alone struct{ Creates, Updates float64 }

// cold says how fast one member won elections that nobody had held before.
type cold struct {
	Elections int
	// Took is the time from the start of the process to the last election led.
	Took  time.Duration
	Codes map[string]float64
	// Alone is the speed of the API server alone, measured just before.
	Alone alone
}

// retake is how fast the elections of a killed member were led again.
type retake struct {
	Elections int
	// Took is the time from the first election led to the last.
	Took  time.Duration
	Codes map[string]float64
	// Alone is the API server alone, measured just before.
	Alone alone
}

// proved is how fast all elections of a member were led again after its parent had proved its death.
type proved struct {
	Elections int
	// Took is the time from SIGKILL to the last election led, in each trial, and Alone the API server alone, measured
	// just before each.
	Took  sample
	Alone []alone
}

// writes is how long the writes of the n-th trial take alone.
func (p proved) writes(n int) time.Duration {
	return time.Duration(float64(p.Elections) / p.Alone[n].Updates * float64(time.Second))
}

// loop is what happens around work that kills its process, again and again.
type loop struct {
	// Elections are the others.
	Elections, Members int
	Lasted             time.Duration
	// Deaths are those of each minute; the last minute may be a part of one.
	Deaths []int
	// Gaps is how often one of the other elections had no leader. Away is the share of their time.
	Gaps              int
	Away              float64
	P50, P99, Longest time.Duration
}

// idle is what a company costs while nothing happens. Its first member leads all elections.
type idle struct {
	Who                contender
	Elections, Members int
	// Requests is the rate of all members together, per second.
	Requests   float64
	CPU        []float64
	RSS, Heap  []uint64
	Goroutines []int
}

// conflicts counts writes that conflicted with another member's.
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
