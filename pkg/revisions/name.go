package revisions

import "github.com/primacy-dev/primacy/pkg/election/record"

// Check says why no member can have such a revision; nil if one can.
func Check(revision string) error { return record.CheckRevision(revision) }
