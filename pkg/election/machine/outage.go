package machine

import "time"

// Outage is what becomes of a term whose renewals no longer come through.
type Outage struct {
	Mode OutageMode
	// For is how long a term may outlast its validity in OutageFailOpen.
	For time.Duration
}

// OutageMode says whether work stops when the store is away.
type OutageMode int

const (
	// OutageStop: the work is dead by the deadline, whatever the reason (rule 4).
	OutageStop OutageMode = iota
	// OutageFailOpen: the term goes on past its deadline while the store says nothing. It
	// gives the guarantee away: whoever reaches the store takes the lock meanwhile.
	OutageFailOpen
)

// OutageUnbounded lets a term outlast its validity for as long as the store is away.
const OutageUnbounded = 100 * 365 * 24 * time.Hour

// failOpen lets a term outlast its validity: the store does not answer, and nothing says
// that the lock is another's. What says so ended the term before this is called. The work
// is given short extensions, so that it dies with its driver as ever.
func (s *step) failOpen() {
	t := s.cfg.Timing
	if s.cfg.Outage.Mode != OutageFailOpen {
		return
	}
	limit := s.heldUntil.Add(s.cfg.Outage.For)
	// In time: at deadline - stopGrace a guard of the driver stops the work by itself.
	due := s.Term.Deadline.Add(-t.StopGrace - t.RenewInterval)
	if s.now < due {
		s.wakeAt(due)
		return
	}
	deadline := min(s.now.Add(t.StopGrace+2*t.RenewInterval), limit)
	if !s.denied && s.now < s.Term.Deadline.Add(-t.StopGrace) && deadline > s.Term.Deadline {
		s.Term.Deadline = deadline
		s.act(Extend{Deadline: deadline})
		s.wakeAt(deadline.Add(-t.StopGrace - t.RenewInterval))
	}
}

// refusal takes in that the store said no to a renewal: from here on its silence is no
// longer taken for an outage, until it said yes.
func (s *step) refusal() { s.denied = s.cfg.Outage.Mode == OutageFailOpen }
