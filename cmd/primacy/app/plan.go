package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/priority"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/configmap"
	"github.com/primacy-dev/primacy/pkg/revisions/controller"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// plan is a configuration after the registries have decoded its blocks.
type plan struct {
	// source is the source of the default revision; nil if there is none.
	source    election.Preferences
	elections []planned
}

// planned is one election, ready to be added to a manager.
type planned struct {
	spec election.Spec
	// runner is nil if the election only elects a leader.
	runner election.Runner
	// labelled: the Pod of its leader has a label.
	labelled bool
	// suffix is set if each revision has its own such election; no rollout moves them.
	suffix string
	// figures count what the runners do.
	figures *runners.Figures
	// missing lists what the runners need and this machine lacks.
	missing strict.Errors
	// weaker lists what holds less on this machine than it may elsewhere.
	weaker strict.Errors
}

// weaker lists what holds less here, of the runners of the given elections.
func weaker(of []planned) (all strict.Errors) {
	for _, e := range of {
		all = append(all, e.weaker...)
	}
	return alikeOnce(all)
}

// missing lists what the runners of the given elections need and this machine lacks.
func missing(of []planned) error {
	var all strict.Errors
	for _, e := range of {
		all = append(all, e.missing...)
	}
	return alikeOnce(all).OrNil()
}

// alikeOnce keeps the first of mistakes that say the same, and says in which lines the others are.
func alikeOnce(all strict.Errors) (once strict.Errors) {
	lines := map[*strict.Error][]string{}
	for _, e := range all {
		i := slices.IndexFunc(once, func(first *strict.Error) bool {
			return first.File == e.File && first.Problem == e.Problem && first.Hint == e.Hint
		})
		if i < 0 || e.Line == 0 {
			once = append(once, e)
			continue
		}
		lines[once[i]] = append(lines[once[i]], strconv.Itoa(e.Line))
	}
	for i, e := range once {
		if same := lines[e]; same != nil {
			noted := *e
			noted.Problem += "; so in " + inLines(same)
			once[i] = &noted
		}
	}
	return once
}

// inLines names a few lines of a file.
func inLines(lines []string) string {
	const shown = 5
	switch n := len(lines); {
	case n == 1:
		return "line " + lines[0]
	case n > shown:
		return fmt.Sprintf("%d other lines", n)
	}
	return "lines " + strings.Join(lines, ", ")
}

// planner decodes the blocks that package config leaves to the registries.
type planner struct {
	runners *runners.Registry
	sources *revisions.Registry
	// locks are the stores; nil if plans are only checked.
	locks *stores
	// namespace holds locks and sessions.
	namespace string
	log       *zap.Logger
}

// plan reports all mistakes at once, as a strict.Errors with file and line. It runs the runners'
// slow checks (probes) in parallel. Any other error means that ctx ended.
func (p planner) plan(ctx context.Context, c *config.Configuration) (*plan, error) {
	var made plan
	var errs strict.Errors
	note := func(err error) {
		var several strict.Errors
		var one *strict.Error
		switch {
		case errors.As(err, &several):
			errs = append(errs, several...)
		case errors.As(err, &one):
			errs = append(errs, one)
		}
	}
	if b := c.DefaultRevision; b != nil {
		source, err := p.sources.Decode(b.Kind, b.Node, revisions.Env{Namespace: p.namespace, Log: p.log})
		note(c.Within(*b, err))
		made.source = source
	}
	var probes []runners.Probe
	for _, e := range c.Elections {
		note(notControllers(c, e))
		note(notDefaults(c, e))
		made.elections = append(made.elections, p.election(c, e, &probes, note))
	}
	for _, err := range ask(ctx, probes) {
		note(err)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("stopped before it was known whether all runners can work: %w", context.Cause(ctx))
	}
	if err := errs.OrNil(); err != nil {
		return nil, err
	}
	return &made, nil
}

// ask runs all probes in parallel.
func ask(ctx context.Context, probes []runners.Probe) []error {
	errs := make([]error, len(probes))
	var wg sync.WaitGroup
	for i, p := range probes {
		wg.Go(func() { errs[i] = p(ctx) })
	}
	wg.Wait()
	return errs
}

// notControllers refuses an election with the name or the lock of the controller's election, whose
// leader drives the group's rollouts: every member adds that election by itself.
func notControllers(c *config.Configuration, e config.Election) error {
	own := controller.ElectionName(c.Group)
	problem := fmt.Sprintf("%q is the election in which rollouts of group %s are driven, which every member adds by itself", own, c.Group)
	switch {
	case e.Name == own:
		return c.ErrorAt(nil, e.Field+".name", problem, "choose another name")
	case e.Disabled: // it takes no lock
	case e.Lock.LockName() == config.LockName{Kind: config.DefaultLockKind, Name: own}:
		return c.ErrorAt(nil, e.Field+".lock.name", problem, "choose another name for the lock")
	case e.Lock.MigrateFrom != nil && *e.Lock.MigrateFrom == (config.LockName{Kind: config.DefaultLockKind, Name: own}):
		return c.ErrorAt(nil, e.Field+".lock.migrateFrom", problem, "name the lock that this election had before")
	}
	return nil
}

// notDefaults refuses an election whose lock is the ConfigMap that holds the default revision.
func notDefaults(c *config.Configuration, e config.Election) error {
	b := c.DefaultRevision
	if b == nil || b.Kind != kindConfigMap || e.Disabled {
		return nil
	}
	source, err := configmap.KeyIn(b.Node, "")
	if err != nil {
		return nil // the source reports this mistake
	}
	read := config.LockName{Kind: kindOfConfigMaps, Name: source.Name}
	problem := fmt.Sprintf("ConfigMap %q holds the default revision, which %s reads", source.Name, b.Field)
	field := e.Field + ".lock.name"
	if _, given := strict.Lookup(e.Node, "lock.name"); !given {
		field = e.Field + ".name"
	}
	switch {
	case e.Lock.LockName() == read:
		return c.ErrorAt(nil, field, problem, "give the lock another name")
	case e.Lock.MigrateFrom != nil && *e.Lock.MigrateFrom == read:
		return c.ErrorAt(nil, e.Field+".lock.migrateFrom", problem, "name the lock that this election had before")
	}
	return nil
}

// lockKinds notes the kinds of locks of an election that nobody knows, and says whether there is none such.
func (p planner) lockKinds(c *config.Configuration, e config.Election, note func(error)) (known bool) {
	known = p.lockKind(c, e.Field+".lock.kind", e.Lock.Kind, note)
	if from := e.Lock.MigrateFrom; from != nil {
		known = p.lockKind(c, e.Field+".lock.migrateFrom.kind", from.Kind, note) && known
	}
	return known
}

func (p planner) election(c *config.Configuration, e config.Election, probes *[]runners.Probe, note func(error)) planned {
	known := p.lockKinds(c, e, note)
	made := planned{
		spec: election.Spec{
			Name: e.Name, Lock: e.Lock.Name, Timing: e.Timing, Policy: policyOf(c, e, note), Bootstrap: bootstraps[e.Bootstrap],
			Foreign: foreigners(e.Lock), Renewal: e.Lock.Renewal, Range: e.Range, Outage: outage(e), OnDeath: election.OnDeath(e.OnDeath),
		},
		suffix: e.Suffix, labelled: e.LeaderLabel,
		figures: runners.NewFigures(e.Name),
	}
	if e.Suffix != "" && made.spec.Policy != nil {
		made.spec.Policy = priority.Within(c.Member.Revision, made.spec.Policy)
	}
	if e.Disabled {
		made.spec.Disabled = true
	}
	made.runner = p.runner(c, e, &made, probes, note)
	if known && p.locks != nil {
		p.locks.lock(e.Lock, &made.spec)
	}
	return made
}

// meant is a hint for a mistyped word; empty if no known word is similar.
func meant(word string, known []string) string {
	if near := strict.Nearest(word, known); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// policyOf says who outranks whom.
func policyOf(c *config.Configuration, e config.Election, note func(error)) priority.Policy {
	if e.Chain == nil {
		policy, err := priority.Parse(string(e.Policy))
		if err != nil {
			note(c.ErrorAt(nil, e.Field+".priority.policy", err.Error(), meant(string(e.Policy), priority.Names())))
		}
		return policy
	}
	field := e.Field + ".priority.chain"
	for i := range e.Chain {
		if _, err := priority.ParseChain(e.Chain[i : i+1]); err != nil {
			note(c.ErrorAt(nil, fmt.Sprintf("%s[%d]", field, i), err.Error(), meant(e.Chain[i], priority.Keys())))
		}
	}
	// Istio's electors take the lock by revision, whatever the location. If location came first, we would
	// take it back.
	before, at := slices.Index(e.Chain, priority.ByPreferred.String()), slices.Index(e.Chain, priority.ByLocation.String())
	if e.Lock.SharedWith == config.SharedWithIstio && at >= 0 && (before < 0 || before > at) {
		note(c.ErrorAt(nil, field, "Istio's electors, which share the lock, go by revision before location", "put preferred before location"))
	}
	policy, _ := priority.ParseChain(e.Chain) // its errors are noted above
	return policy
}

// lockKind says whether there is such a kind of lock.
func (p planner) lockKind(c *config.Configuration, field, kind string, note func(error)) bool {
	_, known := lockKinds[kind]
	if !known {
		kinds := slices.Sorted(maps.Keys(lockKinds))
		note(c.ErrorAt(nil, field, fmt.Sprintf("there is no kind of lock %q", kind), cmp.Or(meant(kind, kinds), "the kinds are: "+strings.Join(kinds, ", "))))
	}
	return known
}

// outage says what happens to the election's terms in an outage.
func outage(e config.Election) election.Outage {
	if e.Outage != config.OutageFailopen {
		return election.Outage{Mode: election.OutageStop}
	}
	return election.Outage{Mode: election.OutageFailOpen, For: min(e.FailopenFor, election.OutageUnbounded)}
}

var bootstraps = map[config.Bootstrap]election.Bootstrap{
	config.BootstrapWait:      election.BootstrapWait,
	config.BootstrapImmediate: election.BootstrapImmediate,
}

// runner combines all runners of an election into one.
func (p planner) runner(c *config.Configuration, e config.Election, made *planned, probes *[]runners.Probe, note func(error)) election.Runner {
	if len(e.Runners) == 0 {
		return nil
	}
	env := runners.Env{Election: e.Name, StopGrace: e.Timing.StopGrace, Log: p.log}
	var children []runners.Child
	for i := range e.Runners {
		field := fmt.Sprintf("runners[%d]", i)
		node, _ := strict.Lookup(e.Node, field)
		block := config.Block{Field: strict.Join(e.Field, field), Node: node}
		in := func(list *strict.Errors) func(error) {
			return func(err error) {
				var errs strict.Errors
				if errors.As(c.Within(block, err), &errs) {
					*list = append(*list, errs...)
				}
			}
		}
		env.Missing, env.Weaker = in(&made.missing), in(&made.weaker)
		env.Later = func(p runners.Probe) {
			*probes = append(*probes, func(ctx context.Context) error { return c.Within(block, p(ctx)) })
		}
		child, err := p.runners.Decode(node, env)
		note(c.Within(block, err))
		children = append(children, child)
	}
	return runners.Supervise(children, runners.Supervision{Log: p.log, Figures: made.figures})
}
