package record

import "time"

// Instant is a moment on one member's CLOCK_BOOTTIME, in nanoseconds. Instants of
// different members are never compared. Zero means "never".
type Instant int64

// Add is the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub is the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }
