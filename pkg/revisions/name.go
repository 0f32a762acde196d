package revisions

import "github.com/primacy-dev/primacy/pkg/election/record"

// Check returns an error if no member can have this revision.
func Check(revision string) error { return record.CheckRevision(revision) }
