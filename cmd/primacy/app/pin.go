package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/strict"
)

const steerNeeds = `
It needs list and watch on leases, and get, update and create on the group's ConfigMap. It asks
before it moves leadership, and if there are warnings; without a terminal it needs --yes. With
--config, its output uses each election's policy, minHold and scope; without it, the default policy.`

func newPin() *cobra.Command {
	var revision, member string
	c := &cobra.Command{
		Use:   "pin ELECTION {--revision REVISION | --member NAME}",
		Short: "Let an election prefer a revision or a member, whatever the rollout or the default say",
		Long: `Let an election prefer a revision, or one member, until it is unpinned. A pin comes before
the rollout and before the default revision. A member is named by its Pod or host: whatever its
incarnation, it comes before all others, and where it is not ready the election is led as
without the pin.
` + steerNeeds,
		Args: oneElection,
	}
	ways := addSteerWays(c.Flags())
	c.Flags().StringVar(&revision, "revision", "", "the revision that should lead")
	c.Flags().StringVar(&member, "member", "", "the member that should lead: the name of its Pod or host")
	c.RunE = func(c *cobra.Command, args []string) error {
		if (revision == "") == (member == "") {
			return &usageError{errors.New("pin to what? (give either --revision or --member)")}
		}
		pin := rollout.Pin{Election: args[0], Revision: revision, Member: member, At: rollout.At(time.Now())}
		return ways.steer(c, func(ctx context.Context, s *steerCommand) error {
			pin.By = operator(ctx, s.cluster)
			to := "revision " + revision
			if member != "" {
				to = "member " + member
			}
			return s.replan(ctx, args[0], fmt.Sprintf("pin %s to %s", args[0], to), func(p rollout.Plan) (rollout.Plan, error) { return p.PinTo(pin) })
		})
	}
	return c
}

func newUnpin() *cobra.Command {
	c := &cobra.Command{
		Use:   "unpin ELECTION...",
		Short: "Let elections follow the rollout and the default again",
		Long:  "Take the pins of elections away, so that they follow the rollout and the default revision again.\n" + steerNeeds,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nil
			}
			return &usageError{fmt.Errorf("want the names of elections, got none (%s --help says more)", c.CommandPath())}
		},
	}
	ways := addSteerWays(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		return ways.steer(c, func(ctx context.Context, s *steerCommand) error { return s.unpin(ctx, args) })
	}
	return c
}

func newPins() *cobra.Command {
	c := &cobra.Command{
		Use:   "pins",
		Short: "Show which elections are pinned",
		Args:  noArguments,
	}
	addSettings(c.Flags(), groupSettings...)
	ways := &steerWays{output: addOutput(c.Flags())}
	c.RunE = func(c *cobra.Command, _ []string) error {
		return ways.steer(c, func(_ context.Context, s *steerCommand) error {
			if s.stored.Mistakes != nil {
				fmt.Fprintf(s.notes, "warning: %v\n", s.stored.Mistakes)
			}
			return ways.output.write(s.out, pinsText(s.plan.Pins), shownPins(s.plan.Pins))
		})
	}
	return c
}

func oneElection(c *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return &usageError{fmt.Errorf("want the name of one election, got %d arguments (%s --help says more)", len(args), c.CommandPath())}
}

// replan makes a change to the plan that concerns one election.
func (s *steerCommand) replan(ctx context.Context, election, what string, change func(rollout.Plan) (rollout.Plan, error)) error {
	return s.changePlan(ctx, what, s.warnings(election), change)
}

// unpin takes the pins of elections away. An election that no lock shows may have one, too.
func (s *steerCommand) unpin(ctx context.Context, elections []string) error {
	var warnings []string
	for _, e := range elections {
		if slices.Contains(s.unseen(s.report), e) {
			warnings = append(warnings, fmt.Sprintf("who leads %s is not seen: leadership may move", e))
		}
	}
	return s.changePlan(ctx, "unpin "+strings.Join(elections, ", "), append(warnings, s.divided()...), func(p rollout.Plan) (rollout.Plan, error) {
		var err error
		for _, e := range elections {
			if p, err = p.Unpin(e); err != nil {
				return p, err
			}
		}
		return p, nil
	})
}

// aftermath is what a command waits for after its change is stored, and for how long at most.
type aftermath struct {
	within time.Duration
	// warnsFirst says that people see the warnings before the wait, which may take long or fail.
	warnsFirst bool
	wait       func(ctx context.Context, stored rollout.Plan) error
}

// changePlan makes a change to the plan, and waits until members have seen it.
func (s *steerCommand) changePlan(ctx context.Context, what string, warnings []string, change func(rollout.Plan) (rollout.Plan, error)) error {
	return s.changePlanUntil(ctx, what, warnings, change, aftermath{within: hearsWithin, wait: func(ctx context.Context, stored rollout.Plan) error {
		s.heard(ctx, stored)
		return nil
	}})
}

// changePlanUntil makes a change to the plan, and waits for what comes of it.
func (s *steerCommand) changePlanUntil(ctx context.Context, what string, warnings []string, change func(rollout.Plan) (rollout.Plan, error), until aftermath) error {
	next, err := change(s.stored.Plan)
	if err != nil {
		return s.broken(err)
	}
	byDefault := s.defaultSeen()
	effect := s.compare(s.plan, byDefault, next.At(s.report.At), byDefault)
	effect.What = what
	effect.Warnings, effect.waits = append(effect.Warnings, warnings...), until.warnsFirst
	for _, m := range effect.Elections {
		if m.Absent && !m.lacked {
			effect.Warnings = append(effect.Warnings, fmt.Sprintf("no ready member is what %s prefers then: %s", m.Election, m.After))
		}
	}
	return s.carryOutFor(ctx, statusPatience+until.within, effect, func(ctx context.Context) error {
		var stored rollout.Plan
		if err := s.broken(s.edit(ctx, func(p rollout.Plan) (_ rollout.Plan, err error) {
			stored, err = change(p)
			return stored, err
		})); err != nil {
			return err
		}
		return until.wait(ctx, stored)
	})
}

// broken adds the unreadable parts of the stored plan to err, the reason of a refusal.
func (s *steerCommand) broken(err error) error {
	if err == nil || s.stored.Mistakes == nil {
		return err
	}
	return fmt.Errorf("configmap %s in namespace %s: %w\n%w", rollout.ObjectName(s.group), s.namespace, err, s.stored.Mistakes)
}

// warnings lists the warnings about a change of the election, from the state before the change.
func (s *steerCommand) warnings(election string) (all []string) {
	var names []string
	for _, e := range s.report.Elections {
		if e.Group == s.group {
			names = append(names, e.Name)
		}
	}
	switch {
	case slices.Contains(names, election):
	case slices.Contains(s.unseen(s.report), election):
		all = append(all, fmt.Sprintf("who leads %s is not seen: leadership may move", election))
	default:
		w := fmt.Sprintf("no election %s of group %s is seen in namespace %s", election, s.group, s.namespace)
		if near := strict.Nearest(election, names); near != "" {
			w += "; did you mean " + near + "?"
		}
		all = append(append(all, w), s.deserted()...)
	}
	return append(all, s.divided()...)
}

// mayMoveUnseen warns of elections of which the report does not show who leads them.
func (s *steerCommand) mayMoveUnseen() (all []string) {
	if names := s.unseen(s.report); len(names) > 0 {
		all = append(all, fmt.Sprintf("who leads %s is not seen: leadership may move", strings.Join(names, ", ")))
	}
	if places := notLooked(s.report, func(m status.Member) bool { return m.Group == s.group && m.State == status.Live }); places != nil {
		all = append(all, fmt.Sprintf("elections whose locks are in namespace %s are not seen, and their leadership may move (-f FILE, the configuration of the members, looks there)", strings.Join(places, ", ")))
	}
	return all
}

// notLooked are the namespaces, sorted, in which a report did not look although such members have locks there.
func notLooked(r status.Report, of func(status.Member) bool) (places []string) {
	for _, m := range r.Members {
		if of(m) {
			places = append(places, m.NotLooked()...)
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// deserted warns if no member of the group lives: --group or --namespace may have a mistake.
func (s *steerCommand) deserted() []string {
	if slices.ContainsFunc(s.report.Members, func(m status.Member) bool { return m.Group == s.group && m.State == status.Live }) {
		return nil
	}
	return []string{fmt.Sprintf("no member of group %s lives in namespace %s, so nobody obeys before one starts (check --group and --namespace)", s.group, s.namespace)}
}

// divided warns of living members that see different preferences.
func (s *steerCommand) divided() []string {
	var seen []string
	for _, m := range s.report.Members {
		if m.Group == s.group && m.State == status.Live && !slices.Contains(seen, m.Preference) {
			seen = append(seen, m.Preference)
		}
	}
	if len(seen) > 1 {
		return []string{fmt.Sprintf("members see different preferences (%s), and as long as they do nothing moves", strings.Join(seen, ", "))}
	}
	return nil
}

func pinsText(pins []rollout.Pin) string {
	if len(pins) == 0 {
		return "no election is pinned\n"
	}
	var b strings.Builder
	for _, p := range pins {
		to := "revision " + p.Revision
		if p.Member != "" {
			to = "member " + p.Member
		}
		fmt.Fprintf(&b, "%s: %s", p.Election, to)
		if p.By != "" {
			fmt.Fprintf(&b, ", by %s", p.By)
		}
		if !p.At.IsZero() {
			fmt.Fprintf(&b, " at %s", p.At.Format(time.RFC3339))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// shownPin is a pin in JSON and YAML. Fields are added, never renamed.
type shownPin struct {
	Election string    `json:"election"`
	Revision string    `json:"revision,omitempty"`
	Member   string    `json:"member,omitempty"`
	By       string    `json:"by,omitempty"`
	At       time.Time `json:"at,omitzero"`
}

func shownPins(pins []rollout.Pin) []shownPin {
	all := make([]shownPin, len(pins))
	for i, p := range pins {
		all[i] = shownPin{p.Election, p.Revision, p.Member, p.By, p.At.Time}
	}
	return all
}
