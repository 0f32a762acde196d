package clock

import (
	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

func bootInstant() record.Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("clock: CLOCK_BOOTTIME cannot be read: " + err.Error())
	}
	return record.Instant(ts.Nano())
}
