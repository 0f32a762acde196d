package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/configmap"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
	"github.com/primacy-dev/primacy/pkg/strict"
)

func newExplain() *cobra.Command {
	c := &cobra.Command{
		Use:   "explain ELECTION",
		Short: "Say why an election is led as it is, and what would change that",
		Long: `Say who leads an election, since when and why, who should lead it, for each member why it does or
does not lead, and what would change that. It reads the API and nothing else: locks, sessions, pins,
the rollout and, with --config, the ConfigMap with the default revision. It needs list and watch on
leases, and get on the group's ConfigMap; without the latter it knows no pins and no rollout, and
says so.

With --config it uses the election's own policy, minHold, preemptDelay and range, and the group's
standDown; without it, the default policy. Times come from what members wrote, by their clocks: they
say about when something happens.

Exit status: 0 if the election is led as it should be; 1 if the API or the election cannot be read, or
if the election was taken out of the configuration and only its lock is left;
2 for a mistake in the command line; 3 if it is not led as it should be yet, but will be by itself; 4
if it is not, and that does not end by itself.`,
		Example: `  primacy explain ingress-status
  primacy explain ingress-status -f primacy.yaml -o json`,
		Args: oneElection,
	}
	addSettings(c.Flags(), groupSettings...)
	format := addOutput(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		return inGroup(c, func(ctx context.Context, g groupCommand) error {
			e, err := g.explain(ctx, args[0])
			if err != nil {
				return err
			}
			if err := format.write(g.out, e.text(), e); err != nil {
				return err
			}
			return e.exit()
		})
	}
	return c
}

// explain reads everything that an explanation needs, and makes it.
func (g *groupCommand) explain(ctx context.Context, election string) (explanation, error) {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	report, err := status.Look(ctx, g.realm, g.selection)
	if err != nil {
		return explanation{}, g.failed(err)
	}
	if slices.Contains(g.disabled, election) {
		return explanation{}, fmt.Errorf("election %s is disabled: every member does its work, and nobody leads it (enabled: true in the configuration turns the election on)", election)
	}
	e, err := electionNamed(report, election, g.namespace)
	if err != nil {
		return explanation{}, err
	}
	heldBy := ""
	if e.AlsoOf != "" {
		heldBy, e.Group = e.Group, e.AlsoOf
	}
	g.group = e.Group
	if heldBy == "" && slices.Contains(g.left(report), election) {
		return explanation{}, fmt.Errorf("only a lock is left of %s: neither the configuration nor a member that lives has such an election (%s)", election, leftHint)
	}
	f := facts{report: report, election: e, heldBy: heldBy, rules: g.rulebook.rules(election), byDefault: defaultSeen(report, e.Group), defaultFrom: "as most members see it"}
	f.notes = append(f.notes, report.Notes...)
	if !g.rulebook.configured {
		f.notes = append(f.notes, unseen)
	}
	switch stored, err := steering.Load(ctx, g.maps(), e.Group); {
	case err != nil:
		f.planUnknown = true
		f.notes = append(f.notes, "pins and the rollout are not known: "+oneLine(err))
	default:
		f.plan = stored.Plan.At(report.At)
		f.notes = append(f.notes, view.Standing(f.plan)...)
		if f.planBroken = stored.Mistakes != nil; f.planBroken {
			f.notes = append(f.notes, "what is stored of pins and rollout cannot all be read: "+oneLine(stored.Mistakes))
		}
	}
	g.readDefault(ctx, &f)
	return f.explain(), nil
}

// readDefault takes the default from the ConfigMap that has it, if the configuration names one.
func (g *groupCommand) readDefault(ctx context.Context, f *facts) {
	if c := g.process.Configuration; c == nil || c.DefaultRevision == nil || c.DefaultRevision.Kind != kindConfigMap {
		return
	}
	key, err := g.defaultKey()
	stored := ""
	if err == nil {
		stored, err = configmap.Get(ctx, g.core, key)
	}
	if err == nil && stored != "" {
		err = revisions.Check(stored)
	}
	if err != nil {
		f.notes = append(f.notes, "the stored default revision is not known: "+oneLine(err))
		return
	}
	f.byDefault, f.defaultFrom = record.Prefer(stored), fmt.Sprintf("ConfigMap %s, key %s", key.Name, key.Key)
}

// electionNamed is the only election of that name in a report.
func electionNamed(r status.Report, name, namespace string) (status.Election, error) {
	var found []status.Election
	var names, groups []string
	for _, e := range r.Elections {
		names = append(names, e.Name)
		if e.Name == name {
			found, groups = append(found, e), append(groups, e.Group)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return status.Election{}, &usageError{fmt.Errorf("which %s? groups %s have an election of that name (--group names one)", name, strings.Join(groups, ", "))}
	}
	hint := "primacy status lists them"
	if near := strict.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	if len(r.Notes) > 0 {
		hint += "; " + strings.Join(r.Notes, "; ")
	}
	return status.Election{}, fmt.Errorf("there is no election %s in namespace %s (%s)", name, namespace, hint)
}

// exit is the error that gives the verdict as an exit status; nil if all is as it should be.
func (e explanation) exit() error {
	switch e.Verdict {
	case verdictRight:
		return nil
	case verdictSoon:
		return &exitError{exitTimeout, errors.New(e.Election + " is not led as it should be yet; that ends by itself")}
	}
	return &exitError{exitNever, errors.New(e.Election + " is not led as it should be, and that does not end by itself")}
}
