package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/election/sweep"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

func newCheck(a *additions) *cobra.Command {
	before := false
	c := &cobra.Command{
		Use:   "check",
		Short: "Check what elections of a group need, and what is wrong with them",
		Long: `Check from here what the elections of a group need: an API server that answers in time, rights, clocks
that agree. Then check what the API shows: elections that nobody leads, electors that are not Primacy on
their locks, members that see no preference or different ones, sessions left behind, drains and a pause.
It changes nothing.

With --pre it checks a configuration before its first member starts: it asks for the rights of a member,
so run it with the credentials of members, and leaves out what only members show. It also says whether limits
of runners would hold for whole process trees here, and whether NTP slews the clock of this machine by more than
timing.drift. It needs --config.

A problem is something to mend. A warning is something to know. Exit status: 0 without problems; 1 if
the API cannot be read; 2 for a mistake in the command line; 4 if there are problems.`,
		Example: `  primacy check -f primacy.yaml
  primacy check --pre -f primacy.yaml -o json`,
		Args: noArguments,
	}
	addSettings(c.Flags(), groupSettings...)
	c.Flags().BoolVar(&before, "pre", false, "no member runs yet: check the rights of members, and nothing that members show")
	format := addOutput(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		return inGroup(c, func(ctx context.Context, g groupCommand) error {
			if before && g.process.Configuration == nil {
				return &usageError{errors.New("--pre: no configuration (give --config FILE, or set PRIMACY_CONFIG)")}
			}
			x := &checking{groupCommand: g, additions: a}
			all := x.here
			if !before {
				all = x.everything
			}
			if err := all(ctx); err != nil {
				return err
			}
			return x.write(*format)
		})
	}
	return c
}

// checking is one invocation of `primacy check`.
type checking struct {
	groupCommand
	additions *additions
	found     []finding
}

// finding is what one check found, in JSON and YAML. Fields are added, never renamed.
type finding struct {
	Check string `json:"check"`
	Grade grade  `json:"grade"`
	What  string `json:"what"`
	Hint  string `json:"hint,omitempty"`
}

// grade says how bad a finding is.
type grade string

const (
	gradeFine    grade = "fine"
	gradeWarning grade = "warning"
	gradeProblem grade = "problem"
)

func (x *checking) say(check string, g grade, hint, what string, args ...any) {
	x.found = append(x.found, finding{check, g, fmt.Sprintf(what, args...), hint})
}

// here checks what can be seen without members.
func (x *checking) here(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := x.checkServer(ctx); err != nil {
		return err
	}
	x.checkSlew()
	needed, err := x.memberNeeds(ctx)
	if err != nil {
		return err
	}
	if err := x.checkMemberRights(ctx, needed); err != nil {
		return err
	}
	x.checkRemoval()
	if err := checkNamespaces(ctx, x.cluster, x.insists(), needed); err != nil {
		x.say("namespace", gradeProblem, "", "%s", oneLine(err))
	}
	report, err := status.Look(ctx, x.realm, x.selection)
	if err != nil {
		x.say("foreign", gradeWarning, "", "who holds the locks is not known: %s", oneLine(x.failed(err)))
		return nil
	}
	x.checkForeign(report)
	x.checkShared(report)
	return nil
}

// everything checks a group whose members run.
func (x *checking) everything(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := x.checkServer(ctx); err != nil {
		return err
	}
	report, err := status.Look(ctx, x.realm, x.selection)
	if err != nil {
		return x.failed(err)
	}
	if x.group == "" {
		if x.group, err = onlyGroup(report, x.namespace); err != nil {
			return err
		}
	}
	if err := x.checkOperatorRights(ctx); err != nil {
		return err
	}
	x.checkForeign(report)
	x.checkShared(report)
	x.checkElections(report)
	x.checkMembers(report)
	x.checkPreferences(report)
	x.checkStored(ctx, report.At)
	for _, note := range report.Notes {
		x.say("sight", gradeWarning, "", "%s", note)
	}
	return nil
}

func (x *checking) insists() *insistence {
	return &insistence{waiting: waiting{server: x.cluster.config.Host, atMost: patience}, say: func(waiting) {}}
}

func (x *checking) memberNeeds(ctx context.Context) ([]need, error) {
	plan, err := x.additions.checker().plan(ctx, x.process.Configuration)
	if err != nil {
		return nil, err
	}
	x.checkLimits(plan.elections)
	return needs(x.process, "", plan.source), nil
}

// checkMemberRights asks for the rights of a member.
func (x *checking) checkMemberRights(ctx context.Context, all []need) error {
	must := required(all)
	granted, err := x.checkRights(ctx, gradeProblem, "apply what primacy generate rbac prints", "without which no member starts", must)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(slices.Clone(all), func(n need) bool {
		return n.use == toElect || !granted && slices.ContainsFunc(must, n.isLike) // it may be among those that are denied above
	})
	_, err = x.checkRights(ctx, gradeWarning, "members start without it; apply what primacy generate rbac prints", "without which members start, too", others)
	return err
}

// checkOperatorRights asks for the rights that commands need.
func (x *checking) checkOperatorRights(ctx context.Context) error {
	plan := need{resource: configMaps, names: []string{rollout.ObjectName(x.group)}, place: besideLocks}
	const hint = "without it pin, drain, pause, handover and rollout cannot change anything (the role that ends in :operator, of what primacy generate rbac --operator prints)"
	if _, err := x.checkRights(ctx, gradeProblem, "without it pins, drains and rollouts are not known", "to see pins, drains and rollouts", plan.with("get")); err != nil {
		return err
	}
	_, err := x.checkRights(ctx, gradeWarning, hint, "to change pins, drains and rollouts", plan.with("update"))
	return err
}

// checkRights asks for rights, and says whether all are granted. what describes them.
func (x *checking) checkRights(ctx context.Context, g grade, hint, what string, of []need) (granted bool, err error) {
	client, err := apiserver.ClientFor(x.cluster.config, authorizationclient.NewForConfigAndClient)
	if err != nil {
		return false, err
	}
	ask := reviewer{client, namespacesOf(x.namespace), x.insists()}
	switch denied, err := ask.denied(ctx, of); {
	case err != nil:
		x.say("rights", gradeWarning, "", "the API server does not say what these credentials may do: %s", oneLine(err))
	case denied != "":
		x.say("rights", g, hint, "%s may not %s", whoAmI(ctx, x.cluster), denied)
	default:
		x.say("rights", gradeFine, "", "%s granted, %s", counted(len(of), "right"), what)
		return true, nil
	}
	return false, nil
}

// checkForeign looks for electors that are not Primacy on the locks.
func (x *checking) checkForeign(r status.Report) {
	none := true
	for _, e := range r.Elections {
		if e.State != status.Foreign || x.group != "" && e.Group != x.group && e.Group != "" {
			continue
		}
		none = false
		if x.rulebook.rules(e.Name).shared() {
			x.say("foreign", gradeFine, "", "%s is held by %s, with which the configuration shares the lock", e.Name, e.Holder)
			continue
		}
		x.say("foreign", gradeProblem, "stop that elector, or share the lock with it (lock.sharedWith)", "%s is held by %s, which is not Primacy", e.Name, e.Holder)
	}
	if none {
		x.say("foreign", gradeFine, "", "no lock is held by an elector that is not Primacy")
	}
}

// checkElections looks for elections that nobody leads.
func (x *checking) checkElections(r status.Report) {
	led, left := 0, x.left(r)
	for _, e := range r.Elections {
		switch {
		case e.Group != x.group || e.State == status.Foreign:
		case e.State == status.Led && !e.Stale:
			led++
		case slices.Contains(left, e.Name):
			x.say("led", gradeWarning, leftHint, "only a lock is left of %s: the configuration has no such election", e.Name)
		default:
			x.say("led", gradeProblem, "primacy explain "+e.Name+" says why", "nobody leads %s: %s", e.Name, goalLed.unmet(e))
		}
	}
	x.say("led", gradeFine, "", "%s led", counted(led, "election"))
}

// checkMembers looks for sessions left behind, members that are not ready, and settings that differ.
func (x *checking) checkMembers(r status.Report) {
	live, over := 0, 0
	for _, m := range r.Members {
		if m.Group != x.group {
			continue
		}
		switch m.State {
		case status.Ended:
			over++
			continue
		case status.Live:
			live++
		case status.Stale:
			x.say("sessions", gradeWarning, "members end it once it has lapsed; if none does, no member lives", "session %s of %s was left behind: it is not renewed any more", m.Session, m.Identity)
			continue
		default:
			x.say("sessions", gradeProblem, "", "session %s cannot be used: %s", m.Session, m.Reason)
			continue
		}
		if !m.Ready {
			x.say("members", gradeWarning, "its log says what it lacks", "%s is not ready", m.Identity)
		}
		if m.Lags != "" {
			x.say("members", gradeWarning, "its log has all of it", "%s does not go by its configuration as it is written now: %s", m.Identity, m.Lags)
		}
		if len(m.Namesakes) > 0 {
			x.say("members", gradeProblem, "give each member a name of its own: --name, or POD_NAME", "%s lives, and so does %s, which has the same name: pins, drains and handovers mean both", m.Identity, strings.Join(m.Namesakes, ", "))
		}
		if len(m.Differs) > 0 {
			x.say("members", gradeWarning, "give all members of the group the same settings", "%s differs from others in %s", m.Identity, strings.Join(m.Differs, ", "))
		}
	}
	if over > sweep.Most {
		x.say("sessions", gradeWarning, "primacy gc removes those that ended long ago; with member.removeSessions members do", "%d sessions have ended and are still there", over)
	}
	if live == 0 {
		x.say("members", gradeProblem, "start one: primacy run", "no member of group %s lives", x.group)
		return
	}
	x.say("members", gradeFine, "", "%s live", counted(live, "member"))
	x.checkSets(r)
}

// checkRemoval says who removes sessions that have ended. Whether members have the right is among the rights.
func (x *checking) checkRemoval() {
	if x.process.Configuration.Member.RemoveSessions {
		x.say("sessions", gradeFine, "", "members remove sessions that ended long ago, if they have the right to delete leases (member.removeSessions)")
		return
	}
	x.say("sessions", gradeFine, "", "members remove no sessions: Kubernetes removes those of Pods in the same namespace, and primacy gc the others")
}

// checkPreferences looks for members that see no preference, or different ones.
func (x *checking) checkPreferences(r status.Report) {
	seen := map[string][]string{}
	var order []string
	for _, m := range r.Members {
		if m.Group == x.group && m.State == status.Live {
			if seen[m.Preference] == nil {
				order = append(order, m.Preference)
			}
			seen[m.Preference] = append(seen[m.Preference], m.Identity)
		}
	}
	slices.Sort(order)
	switch {
	case len(order) == 0:
		return
	case len(order) > 1:
		var each []string
		for _, p := range order {
			each = append(each, fmt.Sprintf("%s sees %s", strings.Join(seen[p], ", "), p))
		}
		x.say("preference", gradeProblem, "right after a change that is usual; if it lasts, look at the logs of those that differ", "members see different preferences, so nothing moves between them: %s", strings.Join(each, "; "))
	case strings.HasPrefix(order[0], "(not synced)"):
		x.say("preference", gradeProblem, "their logs say which source cannot be read", "members know no preference yet, so nothing moves")
	case strings.HasPrefix(order[0], "(unset)"):
		x.say("preference", gradeWarning, "set defaultRevision, if elections should follow a revision", "no revision is preferred")
	default:
		x.say("preference", gradeFine, "", "all members see %s", order[0])
	}
}

// checkStored looks at what operators stored.
func (x *checking) checkStored(ctx context.Context, now time.Time) {
	stored, err := steering.Load(ctx, x.maps(), x.group)
	if err != nil {
		return // checkOperatorRights says so
	}
	if stored.Mistakes != nil {
		x.say("stored", gradeProblem, "correct configmap "+rollout.ObjectName(x.group), "what is stored of pins and rollout cannot all be read: %s", oneLine(stored.Mistakes))
	}
	for _, what := range inFront(stored.Plan.At(now)) {
		x.say("stored", gradeWarning, "", "%s", what)
	}
}

// write shows the findings, problems first.
func (x *checking) write(format output) error {
	rank := map[grade]int{gradeProblem: 0, gradeWarning: 1, gradeFine: 2}
	slices.SortStableFunc(x.found, func(a, b finding) int { return cmp.Compare(rank[a.Grade], rank[b.Grade]) })
	problems := 0
	var table status.Aligner
	rows := make([][]string, len(x.found))
	for i, f := range x.found {
		if f.Grade == gradeProblem {
			problems++
		}
		what := f.What
		if f.Hint != "" {
			what += " (" + f.Hint + ")"
		}
		rows[i] = []string{string(f.Grade), f.Check, what}
	}
	if err := format.write(x.out, table.Lines(rows), x.found); err != nil {
		return err
	}
	if problems > 0 {
		return &exitError{exitNever, fmt.Errorf("%s found", counted(problems, "problem"))}
	}
	return nil
}

// counted is a number of things, as in "1 election" and "2 elections".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
