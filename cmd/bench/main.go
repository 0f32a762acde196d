// Command bench measures Primacy as whole processes on a real API server: how long
// leadership takes to move, and whether two runners of one election ever worked at once.
//
//	bench --primacy bin/primacy --devcluster bin/devcluster --stopwatch bin/stopwatch
//
// It starts an API server and member processes of its own on loopback, runs a bounded
// number of trials, and takes everything down. It prints the table of our targets: for this
// working tree, for client-go's electors, and for the API server alone, all measured in one
// run. --json keeps the figures; --svg draws costs against elections and members. --full
// measures more, in less than 30 minutes. A run never fails because of speed. It fails if two
// runners were at work at once, or one began before the validity of a dead member had ended.
//
//	bench --from FILE.json --docs docs/performance.md
//
// measures nothing: it shows the figures of FILE.json, and writes them into the page.
//
// With --scenario move the elections move from ConfigMaps to Leases and back, by
// rolling restarts of the members. Meanwhile other clients write as fast as they can, the
// preferred revision changes, and one member is killed.
//
// With --scenario rollout the elections move by rollouts, from one revision to another: once to
// the end, once with a canary whose runners fail half way, and once with an abort while the
// controller is killed.
//
// Members with many elections, and members made of client-go's electors, are this program again;
// their runners record when they begin and end. The runners of whole programs are stopwatches
// (bench/stopwatch), which record their own work, on CLOCK_BOOTTIME. Members that must die by
// themselves are mortals (bench/mortal): primacy with functions that record their work in the same
// way. The judge reads only these records.
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

	"github.com/primacy-dev/primacy/pkg/election/record"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the flags of a run.
type options struct {
	primacy, devcluster string
	stopwatch, mortal   string
	elections           int
	profile, scenario   string
	full, fsync         bool
	json, svg           string
	from, docs          string
	only                string
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
	flags.StringVar(&o.mortal, "mortal", "bin/mortal", "the program of members that must die by themselves")
	flags.StringVar(&o.profile, "profile", record.DefaultProfile, "timing profile of the members")
	flags.BoolVar(&o.fsync, "fsync", true, "let the API server's store sync every write to disk")
	flags.StringVar(&o.scenario, "scenario", "table", "what to measure: table, or move (from ConfigMaps to Leases and back, under load), or places (the same to another namespace and back), or rollout (10, 50, 100 %; one that fails; one that is aborted)")
	flags.BoolVar(&o.full, "full", false, "table: measure more, for up to 30 minutes rather than 4")
	flags.StringVar(&o.json, "json", "", "table: file to write the results to")
	flags.StringVar(&o.svg, "svg", "", "table: file to draw what grows to")
	flags.StringVar(&o.from, "from", "", "table: show the results in this file instead of measuring")
	flags.StringVar(&o.docs, "docs", "", "table: page to write the table into, between its marks")
	flags.StringVar(&o.only, "only", "", "table: measure only the phases whose names have this in them, such as \"(P1\"")
	flags.IntVar(&o.elections, "elections", 20, "move and rollout: elections; each has three or four members")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.from != "" {
		r, err := loadResult(o.from)
		if err != nil {
			return err
		}
		o.json = ""
		return r.deliver(o)
	}
	play, found := map[string]func(*bench, context.Context) error{"table": (*bench).table, "move": (*bench).moveKinds, "places": (*bench).movePlaces, "rollout": (*bench).rollout}[o.scenario]
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
