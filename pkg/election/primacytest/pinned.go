package primacytest

import (
	"maps"
	"slices"
	"strings"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// pinned maps elections to the members that should lead them. It never changes.
type pinned map[string]string

var _ election.Preference = pinned{}

// Digest implements election.Preference.
func (p pinned) Digest() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		all = append(all, name+"="+p[name])
	}
	return strings.Join(all, ",")
}

// For implements election.Preference.
func (p pinned) For(name string) record.Preferred {
	preferred := record.Prefer("")
	preferred.Member = p[name]
	return preferred
}
