package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// hearsWithin is how long a command waits until all members have seen what it stored. They usually do within a second.
const hearsWithin = 5 * time.Second

// deaf is why a member may never see what is stored, apart from trouble.
const deaf = "it may be a program that does not follow what operators say (docs/operating.md)"

// unhearing are the living members of a group that publish no preference with the plan in it. Members may see different
// defaults. If their clocks are behind ours, parts of the plan that have ended for us still count for them.
func unhearing(r status.Report, group string, plan rollout.Plan) (names []string) {
	plans := plan.Passing(r.At)
	for _, m := range r.Members {
		if m.Group != group || m.State != status.Live {
			continue
		}
		if !slices.ContainsFunc(plans, func(p rollout.Plan) bool { return m.Preference == p.Digest(preferredAs(defaultOf(m))) }) {
			names = append(names, view.NameOf(m.Identity))
		}
	}
	return names
}

// defaultOf is the default that a member sees, without the plan (rollout.Plan.Digest).
func defaultOf(m status.Member) string {
	byDefault, _, _ := strings.Cut(m.Preference, " +")
	return byDefault
}

// preferredAs is the preference that has this text; not synced if none has.
func preferredAs(text string) record.Preferred {
	switch unset := record.Prefer(""); {
	case text == unset.String():
		return unset
	case record.CheckRevision(text) == nil:
		return record.Prefer(text)
	}
	return record.Preferred{State: record.PreferredNotSynced}
}

// heard waits until all living members have seen the plan, and notes those that do not see it. It says nothing if somebody has stored another
// plan meanwhile.
func (g *groupCommand) heard(ctx context.Context, plan rollout.Plan) {
	names := g.stillDeaf(ctx, func(r status.Report) []string { return unhearing(r, g.group, plan) })
	if names == nil {
		return
	}
	now, err := steering.Load(ctx, g.maps(), g.group)
	if err == nil && now.Mistakes != nil {
		fmt.Fprintf(g.notes, "warning: nobody but the members can tell whether they see this, since not all that is stored can be read: of that they keep what they read last, and they obey the rest (correct configmap %s in namespace %s)\n",
			rollout.ObjectName(g.group), g.namespace)
		return
	}
	if unset := record.Prefer(""); err != nil || now.Plan.Kept(time.Now()).Digest(unset) != plan.Digest(unset) {
		return
	}
	fmt.Fprintf(g.notes, "warning: %s: this is stored, and not seen after %v. A member that does not see it does not obey: it cannot read what is stored (see its log), or %s\n",
		strings.Join(names, ", "), hearsWithin, deaf)
}

// stillDeaf waits until there are no unhearing members any more, and returns those that are left, sorted.
func (g *groupCommand) stillDeaf(ctx context.Context, unhearing func(status.Report) []string) (names []string) {
	looked := false
	if _, err := awaited(ctx, hearsWithin, g.follow, func(r status.Report) (string, error) {
		names, looked = unhearing(r), true
		return strings.Join(names, ", "), nil
	}); err == nil || ctx.Err() != nil {
		return nil
	}
	if !looked {
		fmt.Fprintf(g.notes, "warning: this is stored, and whether members have seen it is not known: the API server did not show them within %v (primacy status shows what they see)\n", hearsWithin)
	}
	slices.Sort(names)
	return names
}
