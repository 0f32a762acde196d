// Package clock is the only source of the time: an Instant on CLOCK_BOOTTIME, which goes
// on while the machine sleeps and ignores changes of the wall clock.
package clock

import (
	"time"

	"golang.org/x/sys/unix"

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

func (boottime) Now() record.Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("clock: CLOCK_BOOTTIME cannot be read: " + err.Error())
	}
	return record.Instant(ts.Nano())
}

func (boottime) Wall() time.Time { return time.Now() }

// Until returns the time left until at; negative once it has passed.
func Until(c Clock, at record.Instant) time.Duration { return at.Sub(c.Now()) }
