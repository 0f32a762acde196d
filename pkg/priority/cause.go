package priority

import (
	"fmt"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Cause is what puts a challenger before a holder.
type Cause uint8

const (
	// ByPolicy: the policy ranks the challenger higher, whatever revision is preferred.
	ByPolicy Cause = iota + 1
	// ByRevision: the challenger is of the preferred revision, and the holder is not.
	ByRevision
	// ByPin: the election is pinned to the challenger's host.
	ByPin
	// ByDrain: the holder is drained.
	ByDrain
)

// String says it in words that follow "better member is ready" in the history of the holder.
func (c Cause) String() string {
	switch c {
	case ByPolicy:
		return "by policy"
	case ByRevision:
		return "of the preferred revision"
	case ByPin:
		return "pinned"
	case ByDrain:
		return "this one is drained"
	}
	return fmt.Sprintf("Cause(%d)", uint8(c))
}

// CauseOf says why the challenger outranks the holder. It is meaningful only if it does (Outranks).
func CauseOf(challenger, holder Candidate, preferred record.Preferred) Cause {
	of := func(c Candidate) bool {
		return preferred.State == record.PreferredSet && c.Key.Revision() == preferred.Revision
	}
	switch {
	case drain(challenger, holder, preferred) != 0:
		return ByDrain
	case pin(challenger, holder, preferred) != 0:
		return ByPin
	case of(challenger) && !of(holder):
		return ByRevision
	}
	return ByPolicy
}
