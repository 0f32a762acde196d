package priority

import "github.com/primacy-dev/primacy/pkg/election/record"

// within is a policy of an election in which members of one revision take part, and no others.
type within struct {
	Policy
	revision string
}

// Within is the policy among members of a revision, for an election that each revision has for
// itself: others, who take no part in it, are worth no move and come last, pinned or not.
func Within(revision string, p Policy) Policy { return within{p, revision} }

func (w within) String() string { return w.Policy.String() + " within " + w.revision }

func (w within) admits(c Candidate) bool {
	return c.Key.Revision() == record.NewKey(w.revision, record.Local).Revision()
}
