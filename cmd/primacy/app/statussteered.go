package app

import (
	"context"
	"maps"
	"slices"

	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// steeredGroups are the plans of groups, as far as this user may read them.
type steeredGroups map[string]rollout.Plan

// steered reads the plans of the groups of a report.
func (s *statusCommand) steered(ctx context.Context, r status.Report) steeredGroups {
	plans := steeredGroups{}
	core, err := apiserver.ClientFor(s.cluster.config, coreclient.NewForConfigAndClient)
	if err != nil {
		return plans
	}
	groups := map[string]bool{}
	for _, e := range r.Elections {
		groups[e.Group] = true
	}
	delete(groups, "")
	for group := range groups {
		if stored, err := steering.Load(ctx, core.ConfigMaps(s.namespace), group); err == nil {
			plans[group] = stored.Plan
		}
	}
	return plans
}

// tell adds to a report what operators said: notes on pins, rollouts and the like, and which members are drained.
func (g steeredGroups) tell(r *status.Report) {
	notes := slices.Clone(r.Notes)
	for _, group := range slices.Sorted(maps.Keys(g)) {
		for _, what := range inFront(g[group].At(r.At)) {
			notes = append(notes, "group "+group+": "+what)
		}
	}
	r.Notes = notes
	for i, m := range r.Members {
		_, r.Members[i].Drained = g[m.Group].DrainOf(m.Identity)
	}
}
