// Package clocktest has the clock of tests that run in testing/synctest bubbles.
package clocktest

import (
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Bubble is a clock that shows the time of the bubble in which it is asked. It needs no more than its zero value.
type Bubble struct{}

// Now is the time of the bubble, in nanoseconds since 1970.
func (Bubble) Now() record.Instant { return record.Instant(time.Now().UnixNano()) }

// Wall is the time of the bubble.
func (Bubble) Wall() time.Time { return time.Now() }
