//go:build linux

package probe

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// Turns bounds how many probes run at a time. Probes that share it take turns, first come first served.
type Turns struct {
	commands, others *turns
}

// Of each kind so many run at a time. A command is three processes for a moment.
const (
	mostCommands = 4
	mostOthers   = 32
)

// NewTurns makes Turns.
func NewTurns() *Turns { return &Turns{newTurns(mostCommands), newTurns(mostOthers)} }

// turns has room for some probes.
type turns struct {
	mu   sync.Mutex
	room int
	// waiting are those without a turn, first come first.
	waiting list.List // of chan struct{}, which is closed with the turn
	given   time.Time // when a probe last got a turn
}

func newTurns(room int) *turns { return &turns{room: room} }

// stuckAfter is how long nobody gets a turn until those who wait count that as a failure: all that have one hang. It is
// longer than any timeout.
const stuckAfter = mostTimeout + 2*time.Minute

var errStuck = errors.New("the probe has no turn: all probes that have one hang")

// wait waits for a turn, and calls stuck again and again while all that have one hang. It returns false if ctx ends first.
func (t *turns) wait(ctx context.Context, stuck func()) bool {
	mine := make(chan struct{})
	t.mu.Lock()
	place := t.waiting.PushBack(mine)
	t.giveLocked()
	t.mu.Unlock()
	timer := clock.NewTimer(stuckAfter)
	defer timer.Stop()
	for {
		select {
		case <-mine:
			return true
		case <-ctx.Done():
			t.leave(place, mine)
			return false
		case <-timer.C:
			t.mu.Lock()
			left := stuckAfter - time.Since(t.given)
			t.mu.Unlock()
			if left <= 0 {
				stuck()
				left = stuckAfter
			}
			timer.Reset(left)
		}
	}
}

// leave gives up the place in line, or the turn if it came meanwhile.
func (t *turns) leave(place *list.Element, mine <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-mine:
		t.room++
		t.giveLocked()
	default:
		t.waiting.Remove(place)
	}
}

// end gives a turn back.
func (t *turns) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.room++
	t.giveLocked()
}

// giveLocked gives turns to those that wait, as far as there is room.
func (t *turns) giveLocked() {
	for first := t.waiting.Front(); first != nil && t.room > 0; first = t.waiting.Front() {
		t.room--
		t.given = time.Now()
		close(t.waiting.Remove(first).(chan struct{}))
	}
}
