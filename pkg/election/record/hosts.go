package record

import (
	"slices"
	"strings"
)

// Hosts is a set of host names, as one text: in order, with commas between them. Two sets are equal if their texts are.
type Hosts string

// HostsOf makes the set of these host names. A host name has no comma.
func HostsOf(names ...string) Hosts {
	return Hosts(strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ","))
}

// Has says whether the host is in the set.
func (h Hosts) Has(host string) bool {
	for len(h) > 0 {
		first, rest, _ := strings.Cut(string(h), ",")
		if first == host {
			return true
		}
		h = Hosts(rest)
	}
	return false
}

// Drains says whether the identity belongs to a member of a drained host. A foreign elector belongs to none.
func (p Preferred) Drains(identity string) bool {
	return p.Drained != "" && OurForm(identity) && p.Drained.Has(HostOf(identity))
}
