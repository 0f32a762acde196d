package rollout

import "time"

// Advance is the step of the controller: what follows from what is wanted, what was stored
// last and what is seen. last may be nil, or of another rollout. It is the same wherever it is
// asked, so that a controller goes on where the one before it stopped.
func Advance(spec Spec, last *Status, seen Seen, now time.Time) Outcome {
	panic("rollout: not yet")
}
