package clock

import (
	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

func bootInstant() record.Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &ts); err != nil {
		panic("clock: CLOCK_MONOTONIC_RAW cannot be read: " + err.Error())
	}
	return record.Instant(ts.Nano())
}
