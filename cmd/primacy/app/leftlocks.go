package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/primacy-dev/primacy/pkg/election/status"
)

// A lock is never deleted, so that of an election that was taken out of the configuration stays. Members publish only a digest of
// their elections' names, so only a configuration tells such a lock from one that nobody happens to hold.

// without says whether there is a configuration, and it has no such election.
func (b rulebook) without(election string) bool { return b.configured && !b.has(election) }

// left says whether an election is one of the group's that the configuration does not have, and nobody holds its lock.
func (g *groupCommand) left(e status.Election) bool {
	return e.Group == g.group && e.State == status.Released && g.rulebook.without(e.Name)
}

// present is the report without elections of which only a lock is left. A note names them.
func (g *groupCommand) present(r status.Report) status.Report {
	var names []string
	r.Elections = slices.DeleteFunc(slices.Clone(r.Elections), func(e status.Election) bool {
		is := g.left(e)
		if is {
			names = append(names, e.Name)
		}
		return is
	})
	if names != nil {
		r.Notes = append(slices.Clip(r.Notes), fmt.Sprintf("the configuration does not have %s, and nobody holds what is left: %s", strings.Join(names, ", "), leftHint))
	}
	return r
}

// leftHint is what people can do about a lock that is left.
const leftHint = "primacy gc -f FILE lists such locks"
