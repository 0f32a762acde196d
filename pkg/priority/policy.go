package priority

import (
	"fmt"
	"strings"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Policy compares the keys of members and holders. A policy that compares weights is also
// Weighing; the functions Outranks and Order use either.
type Policy interface {
	// Outranks says whether leadership should move to the challenger. It is irreflexive
	// and transitive, and always false while preferred is not synced.
	Outranks(challenger, holder record.Key, preferred record.Preferred) bool
	// Order is negative when a comes before b to take a free lock, positive when it comes
	// after, zero when the policy has no opinion. It is a total preorder, and if a outranks
	// b then a comes before b.
	Order(a, b record.Key, preferred record.Preferred) int
	// String is the name that configuration uses.
	String() string
}

// policies are the policies that Parse knows, the default first.
var policies = []Policy{
	RevisionLocation{},
	None{},
	By(ByWeight),
}

// Names returns the names that Parse knows.
func Names() (names []string) {
	for _, p := range policies {
		names = append(names, p.String())
	}
	return names
}

// Parse finds a policy by name. The error lists the known names.
func Parse(name string) (Policy, error) {
	for _, p := range policies {
		if p.String() == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("unknown priority policy %q (want one of %s)", name, strings.Join(Names(), ", "))
}
