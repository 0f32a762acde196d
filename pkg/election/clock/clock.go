// Package clock is the only source of the time: an Instant on CLOCK_BOOTTIME, which goes
// on while the machine sleeps and ignores changes of the wall clock.
//
// Systems other than Linux have clocks like it: CLOCK_MONOTONIC_RAW of macOS and the interrupt time of Windows go on
// during sleep, too. But their timers stand still meanwhile. So an Alarm there looks at the clock every second, and may
// ring up to a second after the machine is awake again. Until then, work of a term that ended during the sleep may go
// on. Status.IsLeader reads the clock, so it says at once that the term is over. None of this ever ran.
package clock

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Clock tells the time. Its methods may be called from any goroutine.
type Clock interface {
	// Now returns the present instant.
	Now() record.Instant
	// Wall returns the present wall-clock time, for people and foreign electors only.
	Wall() time.Time
}

// Boottime returns the clock for production.
func Boottime() Clock { return boottime{} }

type boottime struct{}

// Now implements Clock.
func (boottime) Now() record.Instant { return bootInstant() }

// Wall implements Clock.
func (boottime) Wall() time.Time { return time.Now() }

// Until returns the time left until at; negative once it has passed.
func Until(c Clock, at record.Instant) time.Duration { return at.Sub(c.Now()) }
