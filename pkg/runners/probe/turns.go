//go:build linux

package probe

import (
	"context"
	"errors"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// Turns bounds how many probes run at a time. Probes that share it take turns, first come first served.
type Turns struct {
	commands, others chan struct{}
}

// Of each kind so many run at a time. A command is three processes for a moment.
const (
	mostCommands = 4
	mostOthers   = 32
)

// NewTurns makes Turns.
func NewTurns() *Turns {
	return &Turns{commands: make(chan struct{}, mostCommands), others: make(chan struct{}, mostOthers)}
}

// mostWait is how long a probe waits for its turn before it counts as failed: what was said before it is old.
const mostWait = 5 * time.Minute

var errNoTurn = errors.New("no probe for 5m0s: too many others, or some that hang, come before it")

// wait waits for a turn, and calls late after each mostWait. It returns false if ctx ends first.
func wait(ctx context.Context, turns chan struct{}, late func()) bool {
	timer := clock.NewTimer(mostWait)
	defer timer.Stop()
	for {
		select {
		case turns <- struct{}{}:
			return true
		case <-ctx.Done():
			return false
		case <-timer.C:
			late()
			timer.Reset(mostWait)
		}
	}
}
