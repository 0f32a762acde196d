package revisions

import (
	"fmt"
	"regexp"
)

// maxLength is how many characters a revision may have: it is the value of a label.
const maxLength = 63

var form = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)

// Check says why no member can have such a revision; nil if one can.
func Check(revision string) error {
	switch {
	case revision == "":
		return fmt.Errorf("the revision is empty")
	case len(revision) > maxLength:
		return fmt.Errorf("%.70q has %d characters, and a revision has at most %d", revision, len(revision), maxLength)
	case !form.MatchString(revision):
		return fmt.Errorf("%q is no revision: letters, digits, and '-', '_', '.' between them", revision)
	}
	return nil
}
