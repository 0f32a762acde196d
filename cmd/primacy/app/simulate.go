package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/scenario"
	"github.com/primacy-dev/primacy/pkg/priority"
	"github.com/primacy-dev/primacy/pkg/revisions/static"
)

// simulation is one invocation of `primacy simulate`.
type simulation struct {
	file     string
	members  string
	events   happenings
	length   time.Duration
	stopTime time.Duration
	seed     uint64
	output   *output
}

func newSimulate(a *additions) *cobra.Command {
	var s simulation
	c := &cobra.Command{
		Use:   "simulate -f FILE",
		Short: "Show what happens to a configuration if a member dies, or the API is away",
		Long: `Play a configuration with several members in virtual time, with the state machine of
production, and show which member leads what and when, how long nobody leads, and how many
requests the API gets. It needs no cluster and runs no runner.

Give events in order: --kill, --api-away and --default, each followed by its --at. An event
without --at happens 10s after the end of the event before it. 0s is when the group has
settled: every election is led, and none is about to move.

Each write takes 3 ms, and so does each watch event. All clocks run at the same rate. A killed
member does not come back. Electors that are not Primacy's are not simulated. The same seed
gives the same result; other seeds begin at other moments between two renewals.

Exit status: 0; 1 if two members were ever at work at once, or the configuration or the
scenario is wrong; 2 for a mistake in the command line.`,
		Example: `  primacy simulate -f primacy.yaml --kill leader --at 10s
  primacy simulate -f primacy.yaml --members 1-9-0=2,1-10-0=1 --default 1-10-0 --at 30s
  primacy simulate -f primacy.yaml --api-away 20s --kill m1 --at 1m --for 5m`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if s.file == "" {
				return &usageError{errors.New("no configuration (give -f FILE; - is standard input)")}
			}
			return s.run(c.Context(), a, c.InOrStdin(), c.OutOrStdout())
		},
	}
	f := c.Flags()
	f.StringVarP(&s.file, "config", "f", "", "the configuration; - is standard input")
	f.StringVar(&s.members, "members", "3", "how many members there are; or how many of which revision, such as 1-9-0=2,1-10-0=1")
	f.Var(s.events.flag(scenario.Kill), "kill", "kill the member m1, m2, ..., or leader: whoever leads most elections then")
	f.Var(s.events.flag(scenario.APIAway), "api-away", "the API cannot be reached for that long")
	f.Var(s.events.flag(scenario.Default), "default", "another revision becomes the default")
	f.Var(s.events.at(), "at", "the time of the event before this flag")
	f.DurationVar(&s.length, "for", 2*time.Minute, "how long is played")
	f.DurationVar(&s.stopTime, "stop-time", 0, "how long runners take to stop")
	f.Uint64Var(&s.seed, "seed", 1, "the seed of all randomness")
	s.output = addOutput(f)
	return c
}

func (s *simulation) run(ctx context.Context, a *additions, stdin io.Reader, out io.Writer) error {
	c, err := survey(stdin, s.file, config.Outside{})
	if err != nil {
		return err
	}
	p, err := a.checker().plan(ctx, c)
	if err != nil {
		return err
	}
	if p.source == nil && slices.ContainsFunc(s.events.list, func(e scenario.Event) bool { return e.Kind == scenario.Default }) {
		return errors.New("--default: the configuration has no defaultRevision, so nobody would see it change (add one, such as defaultRevision: {configMap: {name: primacy-revisions, key: default}})")
	}
	members, err := crew(s.members, c.Member, s.revisions())
	if err != nil {
		return &usageError{err}
	}
	r, err := scenario.Play(scenario.Scenario{
		Group: c.Group, Timing: c.Timing, Elections: playable(c, p, members), Members: members, Preferred: preferredAtFirst(c, p.source),
		Events: s.events.list, For: s.length, Seed: s.seed, StopTime: s.stopTime,
	})
	if err != nil {
		return err
	}
	r.Notes = notes(c, p.source)
	if err := s.write(out, r); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	if n := len(r.Overlaps); n > 0 {
		return fmt.Errorf("two members were at work at once, %d times (that must never be: please report it, with the configuration and the seed)", n)
	}
	return nil
}

func (s *simulation) write(out io.Writer, r *scenario.Result) error {
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		return err
	}
	return s.output.write(out, text.String(), r)
}

// revisions are the revisions that become the default.
func (s *simulation) revisions() (revisions []string) {
	for _, e := range s.events.list {
		if e.Kind == scenario.Default && !slices.Contains(revisions, e.Revision) {
			revisions = append(revisions, e.Revision)
		}
	}
	return revisions
}

// playable are the elections of the plan, for the simulator. An election of scope: revision
// becomes one election for each revision of the members.
func playable(c *config.Configuration, p *plan, members []scenario.Member) []scenario.Election {
	all := make([]scenario.Election, 0, len(p.elections))
	for i, e := range p.elections {
		s := e.spec
		if s.Disabled {
			continue
		}
		l := c.Elections[i].Lock
		played := scenario.Election{
			Name: s.Name, Lock: playedLock(l, config.LockName{Kind: l.Kind, Namespace: l.Namespace, Name: s.Lock}), Timing: s.Timing, Policy: s.Policy, Bootstrap: s.Bootstrap, Renewal: l.Renewal,
			Range: s.Range, Outage: s.Outage, Foreign: s.Foreign, Runners: scenario.WithRunners,
		}
		if from := l.MigrateFrom; from != nil {
			old := playedLock(l, *from)
			played.MigrateFrom = &old
		}
		if e.runner == nil {
			played.Runners = scenario.WithoutRunners
		}
		if e.suffix == "" {
			all = append(all, played)
			continue
		}
		policy := policyOf(c, c.Elections[i], func(error) {}) // the plan reported its errors
		for _, revision := range revisionsOf(members) {
			played.Lock.Name = strings.TrimSuffix(s.Lock, e.suffix) + "-" + revision
			played.Name, played.Only = strings.TrimSuffix(s.Name, e.suffix)+"-"+revision, revision
			played.Policy = priority.Within(revision, policy)
			all = append(all, played)
		}
	}
	return all
}

// playedLock is a lock of an election. Locks shared with Istio have stores of their own, and so has each namespace.
func playedLock(l config.Lock, of config.LockName) scenario.Lock {
	store := strings.TrimPrefix(of.Namespace+"/"+of.Kind, "/")
	if l.SharedWith == config.SharedWithIstio {
		store += " " + string(l.SharedWith)
	}
	if store == config.DefaultLockKind {
		store = "" // the store of the sessions
	}
	return scenario.Lock{Store: store, Name: of.Name}
}

func revisionsOf(members []scenario.Member) (all []string) {
	for _, m := range members {
		if !slices.Contains(all, m.Revision) {
			all = append(all, m.Revision)
		}
	}
	return all
}

// preferredAtFirst is the first value of the source; if that needs a cluster, the member's own revision.
func preferredAtFirst(c *config.Configuration, source election.Preferences) record.Preferred {
	switch s := source.(type) {
	case nil:
		return record.Prefer("")
	case static.Revision:
		return record.Prefer(string(s))
	}
	return record.Prefer(c.Member.Revision)
}

// notes say which parts of the configuration the simulation leaves out.
func notes(c *config.Configuration, source election.Preferences) (notes []string) {
	if _, known := source.(static.Revision); source != nil && !known {
		notes = append(notes, fmt.Sprintf("the default revision is read from a %s; it is supposed to be %s at first", c.DefaultRevision.Kind, c.Member.Revision))
	}
	for _, e := range c.Elections {
		if e.Disabled {
			notes = append(notes, fmt.Sprintf("%s is disabled: every member works for it, and it is not simulated", e.Name))
			continue
		}
		if e.Lock.SharedWith != config.SharedWithNobody {
			notes = append(notes, fmt.Sprintf("%s is shared with electors of %s: the foreign side is not simulated; a takeover from one of them takes longer", e.Name, e.Lock.SharedWith))
		}
		if from := e.Lock.MigrateFrom; from != nil {
			notes = append(notes, fmt.Sprintf("%s is migrated from %s %s: the foreign side, who holds that lock only, is not simulated", e.Name, from.Kind, from.Name))
		}
	}
	return notes
}
