package election

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/machine"
)

// After an outage the holder of a term that fails open must be the first to write, or two
// would work until it saw who was faster. So the others leave such locks alone while they
// see nothing, and for two renewal intervals after that.

// broken takes in that a stream shows nothing any more.
func (r *realm) broken(s *stream) {
	s.cut = true
	r.holdOff(s, machine.OutageUnbounded)
}

// whole takes in that it shows everything again.
func (r *realm) whole(s *stream) {
	if s.cut {
		s.cut = false
		r.holdOff(s, 2*r.cfg.Timing.RenewInterval)
	}
}

// holdOff keeps the stream's locks whose terms fail open from being taken for a while.
func (r *realm) holdOff(s *stream, d time.Duration) {
	for _, c := range s.byLock {
		if c.failsOpen() {
			c.heldOff = r.cfg.Clock.Now().Add(d)
			r.handle(c, machine.Tick{}) // it may be waiting for another instant
		}
	}
}
