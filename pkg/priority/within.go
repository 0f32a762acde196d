package priority

import "github.com/primacy-dev/primacy/pkg/election/record"

// within is a policy of an election in which members of one revision take part, and no others.
type within struct {
	Policy
	revision string
}

// Within restricts a policy to members of one revision, for an election that each revision has
// for itself. Other members do not take part in it: they outrank nobody and come last, pinned
// or not.
func Within(revision string, p Policy) Policy { return within{p, revision} }

// Admits says whether a member takes part in an election with this policy, as far as the policy says that (Within).
func Admits(p Policy, c Candidate) bool {
	w, restricts := p.(within)
	return !restricts || w.admits(c)
}

func (w within) String() string { return w.Policy.String() + " within " + w.revision }

func (w within) admits(c Candidate) bool {
	return c.Key.Revision() == record.NewKey(w.revision, record.Local).Revision()
}
