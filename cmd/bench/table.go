package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// The table scenario: every row of the targets, one phase after the other. A failed phase
// loses only its own rows; an overlap fails the run.

// size is how much is measured.
type size struct {
	name string
	// most is the time after which a run ends in any case.
	most time.Duration
	// limits is the number of trials for the physical limit, before and again after the moves that we
	// compare with it. raw is the number of objects with which we measure the API server's throughput.
	limits, raw int
	// These are numbers of trials: handovers and switches of one election, bursts (moves of many elections
	// at once), rounds of kills.
	handovers, switches, bursts, kills int
	programHandovers, programSwitches  int
	electorRounds, conflictRounds      int
	starts, deaths                     int
	// combinations is how often each combination of a member's processes is killed.
	combinations int
	// deathsEach is the number of deaths in each further way; waits the number of rounds in which nobody can prove a
	// death, and waiting the number of elections of each dead member there.
	deathsEach, waits, waiting int
	// proved is how many elections a member leads when it dies in provedPhase, and provedRounds how often one dies. looping
	// is how many elections loopPhase has beside the one that kills its members, and loop how long it lasts.
	proved, provedRounds, looping int
	loop                          time.Duration
	// window is how long we count requests and CPU.
	window time.Duration
	// These describe the companies that are measured idle. crowds, records and electors are numbers of
	// elections; we also measure how one member wins the last of crowds. The companies with grown and
	// grownElectors elections grow through the numbers of members in members and electorMembers; all other
	// companies have three members.
	crowds, records, electors []int
	grown, grownElectors      int
	members, electorMembers   []int
	retaken                   int
}

// many is how many elections move at once in bursts and kills.
const many = 20

var short = size{
	name: "short", most: 6 * time.Minute,
	limits: 100, raw: 500,
	handovers: 20, switches: 40, bursts: 4, kills: 1,
	programHandovers: 5, programSwitches: 20,
	electorRounds: 3, conflictRounds: 2, starts: 5, deaths: 5,
	deathsEach: 3, waits: 1, waiting: 3, proved: 200, provedRounds: 1, looping: 50, loop: 20 * time.Second,
	window: 6 * time.Second,
	crowds: []int{100, 1000}, records: []int{100}, electors: []int{30, 100},
	grown: 1000, members: []int{1, 3}, grownElectors: 100, electorMembers: []int{1, 3},
	retaken: 200,
}

var full = size{
	name: "full", most: 30 * time.Minute,
	limits: 200, raw: 2000,
	handovers: 100, switches: 200, bursts: 10, kills: 3,
	programHandovers: 30, programSwitches: 100,
	electorRounds: 5, conflictRounds: 3, starts: 20, deaths: 100,
	combinations: 1, deathsEach: 100, waits: 3, waiting: 5, proved: 1000, provedRounds: 5, looping: 1000, loop: 4 * time.Minute,
	window: 12 * time.Second,
	crowds: []int{100, 300, 1000, 10000}, records: []int{300}, electors: []int{30, 100, 300},
	grown: 1000, members: []int{1, 3, 10}, grownElectors: 100, electorMembers: []int{1, 3, 6},
	retaken: 1000,
}

// table measures, prints, and writes the requested files.
func (b *bench) table(ctx context.Context) error {
	if v := judge(planted()); v.overlapping() != time.Millisecond {
		return fmt.Errorf("the judge does not see a planted overlap of 1 ms: %+v", v)
	}
	fmt.Println("planted overlap of 1 ms: seen by the judge")
	s := short
	if b.options.full {
		s = full
	}
	ctx, cancel := context.WithTimeout(ctx, s.most)
	defer cancel()
	begun := time.Now()
	r := &result{
		Began: begun.UTC().Truncate(time.Second), Size: s.name, Profile: b.options.profile,
		Cores: runtime.NumCPU(), Fsync: b.options.fsync, LoadBefore: loadavg(),
	}
	for _, phase := range []struct {
		name string
		run  func(context.Context, *result, size) error
	}{
		{"the API server by itself", b.base},
		{"handovers (P1)", b.handoverPhase},
		{"switches of the preferred revision (P2, P3)", b.switchPhase},
		{"primacy run: handovers and switches (P1, P2, P3)", b.programPhase},
		{"primacy run: deaths that are proved (P12)", b.deathPhase},
		{"deaths in other ways, proved (P12)", b.waysPhase},
		{"the same, not proved: --guard=false and client-go (P12)", b.waitsPhase},
		{"parts of a member killed in one moment (P12)", b.partsPhase},
		{"a proved death of the leader of many (P12)", b.provedPhase},
		{"work that kills its process (P12)", b.loopPhase},
		{"primacy run: starts (P11)", b.startPhase},
		{"client-go: handovers (P1)", b.electorHandovers},
		{"conflicts (P10)", b.conflictPhase},
		{"kills (P4)", b.crashPhase},
		{"a kill of the leader of many (P9)", b.retakePhase},
		{"many elections, idle (P5 to P9)", b.crowdPhase},
		{"many elections, renewed one by one (P5)", b.recordPhase},
		{"client-go, idle (P5 to P8)", b.electorPhase},
	} {
		if !strings.Contains(phase.name, b.options.only) {
			continue
		}
		began := time.Now()
		err := phase.run(ctx, r, s)
		fmt.Fprintf(os.Stderr, "bench: %s: %.1f s\n", phase.name, time.Since(began).Seconds())
		if err != nil {
			r.Failed = append(r.Failed, phase.name+": "+err.Error())
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", phase.name, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		r.Failed = append(r.Failed, fmt.Sprintf("what comes after that (the run may take %v)", s.most))
	}
	r.Took, r.LoadAfter = time.Since(begun).Round(time.Second), loadavg()
	return errors.Join(r.deliver(b.options), r.verdict())
}

// deliver prints the result, and writes the requested files.
func (r *result) deliver(o options) error {
	errs := []error{r.print(os.Stdout)}
	if o.json != "" {
		errs = append(errs, r.save(o.json))
	}
	if o.svg != "" {
		errs = append(errs, os.WriteFile(o.svg, []byte(r.plot()), 0o600))
	}
	if o.docs != "" {
		errs = append(errs, r.writeInto(o.docs))
	}
	return errors.Join(errs...)
}

// verdict is the reason why a run fails. No measured time is a reason.
func (r *result) verdict() error {
	var errs []error
	if r.All.Overlaps > 0 || r.All.Falling > 0 {
		errs = append(errs, errors.New("leadership was not exclusive"))
	}
	if r.Early > 0 {
		errs = append(errs, errors.New("taken over too early"))
	}
	for _, f := range r.Failed {
		errs = append(errs, errors.New("not measured: "+f))
	}
	return errors.Join(errs...)
}

// judged judges the records of a company's runners, and adds the verdict to r.All.
func (r *result) judged(c *company) (verdict, error) {
	spans, err := c.spans()
	if err != nil {
		return verdict{}, err
	}
	v := judge(spans)
	r.All.add(v)
	for _, o := range v.overlaps {
		fmt.Fprintln(os.Stderr, "bench:", c.namespace, o)
	}
	for _, f := range v.falling {
		fmt.Fprintln(os.Stderr, "bench:", c.namespace, f)
	}
	return v, nil
}

// base measures the API server's requests to itself.
func (b *bench) base(ctx context.Context, r *result, s size) error {
	var err error
	r.Base, err = b.requestsIn(ctx, s.window)
	return err
}

// idleFor is how long we leave the API server idle before each update for Rested. A handover meets
// an idle server, which answers later than a server under constant load.
const idleFor = 50 * time.Millisecond

// limits adds measurements of the physical limit. We call it before and after the moves that we
// compare with the limit, since a machine's speed varies.
func (b *bench) limits(ctx context.Context, r *result, s size) error {
	update, event, err := b.cluster.physical(ctx, s.limits, 0)
	r.Update, r.Event = append(r.Update, update...), append(r.Event, event...)
	if err != nil {
		return err
	}
	_, rested, err := b.cluster.physical(ctx, s.limits/2, idleFor)
	r.Rested = append(r.Rested, rested...)
	return err
}
