package priority

import (
	"fmt"
	"strings"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Policy compares the keys of members and holders. One that looks at weights is Weighing
// as well; the functions Outranks and Order ask either.
type Policy interface {
	// Outranks says whether the challenger is worth moving leadership for. It is
	// irreflexive and transitive, and false for all while preferred is not synced.
	Outranks(challenger, holder record.Key, preferred record.Preferred) bool
	// Order is negative when a comes before b as the one to take a free lock, positive
	// when it comes after, zero when the policy has no opinion. It is a total preorder,
	// and whoever outranks another comes before it.
	Order(a, b record.Key, preferred record.Preferred) int
	// String is the name that configuration uses.
	String() string
}

// policies are those that Parse knows, the default first.
var policies = []Policy{
	RevisionLocation{},
	None{},
	By(ByWeight),
}

// Names are those of the policies there are.
func Names() (names []string) {
	for _, p := range policies {
		names = append(names, p.String())
	}
	return names
}

// Parse finds a policy by name. The error lists the names there are.
func Parse(name string) (Policy, error) {
	for _, p := range policies {
		if p.String() == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("unknown priority policy %q (want one of %s)", name, strings.Join(Names(), ", "))
}
