package record

import (
	"fmt"
	"regexp"
)

// maxRevision is how many characters a revision may have: it is the value of a label.
const maxRevision = 63

var revisionForm = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)

// CheckRevision says why no member can have the revision; nil if one can.
func CheckRevision(revision string) error {
	switch {
	case revision == "":
		return fmt.Errorf("the revision is empty")
	case len(revision) > maxRevision:
		return fmt.Errorf("%.70q has %d characters, and a revision has at most %d", revision, len(revision), maxRevision)
	case !revisionForm.MatchString(revision):
		return fmt.Errorf("%q is no revision: letters, digits, and '-', '_', '.' between them", revision)
	}
	return nil
}
