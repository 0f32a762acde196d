// Command bench measures Primacy as whole processes on a real API server: how long
// leadership takes to move, and whether two runners of one election ever worked at once.
//
//	bench --primacy bin/primacy --devcluster bin/devcluster --stopwatch bin/stopwatch
//
// It starts an API server and member processes of its own on loopback, runs a bounded
// number of trials, prints a table beside what the same API server needs for a bare
// update and for an update to be seen by another client, and takes everything down. It
// asserts nothing about speed; it fails when two runners were at work at once.
//
// With --scenario move the elections move instead, from ConfigMaps to Leases and back, by
// rolling restarts of the members, while other clients write as fast as they can and the
// preferred revision changes; one member is killed on the way.
//
// With --scenario scale one member wins many elections and others follow it: what that costs
// while nothing happens, how fast they are won from cold and after a kill, and what electors
// of client-go need beside it. The members are this program again.
//
// The members' runners are stopwatches (bench/stopwatch): each keeps the time of its own
// work, on CLOCK_BOOTTIME, in a file of its own, and the judge reads nothing else.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are what a run is asked for.
type options struct {
	primacy, devcluster        string
	stopwatch                  string
	elections                  int
	switches, handovers, kills int
	profile, scenario          string
	members                    int
	writes                     float64
	json                       string
	fsync                      bool
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case crowdMember:
			return runCrowdMember(args[1:])
		case electorMember:
			return runElectors(args[1:])
		}
	}
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.primacy, "primacy", "bin/primacy", "the program to measure")
	flags.StringVar(&o.devcluster, "devcluster", "bin/devcluster", "the API server to measure on")
	flags.StringVar(&o.stopwatch, "stopwatch", "bin/stopwatch", "the program that the elections run")
	flags.IntVar(&o.elections, "elections", 20, "elections; each has three members")
	flags.IntVar(&o.switches, "switches", 60, "trials of a switch of the preferred revision")
	flags.IntVar(&o.handovers, "handovers", 20, "trials of a planned handover")
	flags.IntVar(&o.kills, "kills", 5, "trials of a killed member")
	flags.StringVar(&o.profile, "profile", "default", "timing profile of the members")
	flags.BoolVar(&o.fsync, "fsync", true, "let the API server's store sync every write to disk")
	flags.StringVar(&o.scenario, "scenario", "default", "what to measure: default, move (from ConfigMaps to Leases and back, under load) or scale (what many elections cost)")
	flags.IntVar(&o.members, "members", 3, "scale: members; one leads all elections")
	flags.Float64Var(&o.writes, "writes", 0, "scale: writes per second of each member at most; 0 for the default")
	flags.StringVar(&o.json, "json", "", "scale: file to write the results to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	play, found := map[string]func(*bench, context.Context) error{"default": (*bench).measure, "move": (*bench).move, "scale": (*bench).scale}[o.scenario]
	if !found {
		return fmt.Errorf("unknown scenario %q (-h lists them)", o.scenario)
	}
	var err error
	if o.stopwatch, err = filepath.Abs(o.stopwatch); err != nil {
		return fmt.Errorf("path of the stopwatch: %w", err)
	}
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer b.close()
	return play(b, ctx)
}
