package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/controller"
)

// Nobody deletes locks, so the lock of an election stays when the election is taken out of the configuration.

// without says whether there is a configuration, and it has no such election.
func (b rulebook) without(election string) bool { return b.configured && !b.has(election) }

// left are the elections of the group of which only a lock is left: nobody holds it, the configuration does not have the election, and
// the members that live have no elections but those of the configuration.
func (g *groupCommand) left(r status.Report) (names []string) {
	for _, e := range r.Elections {
		if e.Group == g.group && e.State == status.Released && g.rulebook.without(e.Name) {
			names = append(names, e.Name)
		}
	}
	if names == nil || !g.agree(r) {
		return nil
	}
	return names
}

// agree says whether members live, and publish that they have just the elections of the configuration.
func (g *groupCommand) agree(r status.Report) bool {
	want, lives := g.configuredSet(), false
	for _, m := range r.Members {
		if m.Group != g.group || m.State != status.Live {
			continue
		}
		lives = true
		if set, _ := m.Publishes(); set != want {
			return false
		}
	}
	return lives
}

// configuredSet is the digest of their elections that members with the configuration publish.
func (g *groupCommand) configuredSet() string {
	if g.set != "" {
		return g.set
	}
	c := g.process.Configuration
	specs := []election.Spec{{Name: controller.ElectionName(g.group)}}
	for _, e := range c.Elections {
		specs = append(specs, election.Spec{Name: e.Name, Disabled: e.Disabled})
	}
	published, err := election.PublishedBy(election.Config{
		Group: g.group, Member: election.Member{Revision: c.Member.Revision}, Locks: g.realm.Leases, Host: "any", Timing: c.Timing, Version: version,
	}, specs)
	if err != nil {
		return "unknown" // no member publishes that
	}
	g.set = published.Elections
	return g.set
}

// present is the report without elections of which only a lock is left. A note names them.
func (g *groupCommand) present(r status.Report) status.Report {
	names := g.left(r)
	if names == nil {
		return r
	}
	r.Elections = slices.DeleteFunc(slices.Clone(r.Elections), func(e status.Election) bool { return e.Group == g.group && slices.Contains(names, e.Name) })
	r.Notes = append(slices.Clip(r.Notes), fmt.Sprintf("%s: only a lock is left, and the configuration has no such election (%s)", strings.Join(names, ", "), leftHint))
	return r
}

// leftHint is how people see what is left.
const leftHint = "primacy gc -f FILE --dry-run lists what is left"
