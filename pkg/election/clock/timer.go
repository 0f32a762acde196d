package clock

import (
	"context"
	"sync"
	"time"
)

// Timer does what time.Timer does, but may be due at once in a testing/synctest bubble.
// In a bubble a timer of package time that is due when a goroutine sets it, or reads its
// channel, runs on that goroutine's thread. All goroutines of a bubble share one context of
// the race detector, and two threads in it corrupt the detector's memory. This Timer asks
// package time only for calls that lie ahead, and the bubble runs those one by one.
type Timer struct {
	// C receives a value when the timer is due. It is nil if AfterFunc made the timer.
	C <-chan struct{}

	c     chan struct{}
	f     func()
	mu    sync.Mutex
	turn  uint64 // counts how often it was set
	ahead bool   // the present turn is not due yet
	timer *time.Timer
}

// NewTimer fills C after d, or at once if d is not positive.
func NewTimer(d time.Duration) *Timer {
	c := make(chan struct{}, 1)
	t := &Timer{C: c, c: c}
	t.Reset(d)
	return t
}

// AfterFunc calls f on a goroutine of its own after d, or at once if d is not positive.
// Nobody joins that goroutine.
func AfterFunc(d time.Duration, f func()) *Timer {
	t := &Timer{f: f}
	t.Reset(d)
	return t
}

// Reset sets the timer anew, and says whether it was set. It drops a value that waits in C.
func (t *Timer) Reset(d time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.stopLocked()
	t.turn++
	if d <= 0 {
		if t.f != nil {
			go t.f()
		} else {
			t.c <- struct{}{}
		}
		return was
	}
	turn := t.turn
	t.ahead = true
	t.timer = time.AfterFunc(d, func() { t.due(turn) })
	return was
}

// Stop stops the timer, and says whether it was set. It drops a value that waits in C.
func (t *Timer) Stop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stopLocked()
}

func (t *Timer) stopLocked() bool {
	was := t.ahead
	if was {
		t.ahead = false
		t.timer.Stop()
	}
	select {
	case <-t.c:
		was = true
	default:
	}
	return was
}

func (t *Timer) due(turn uint64) {
	t.mu.Lock()
	late := !t.ahead || t.turn != turn // it was stopped or set anew before we came
	if !late {
		t.ahead = false
		if t.f == nil {
			t.c <- struct{}{}
		}
	}
	t.mu.Unlock()
	if !late && t.f != nil {
		t.f()
	}
}

// Wait returns true after d, or false when ctx ends before that.
func Wait(ctx context.Context, d time.Duration) bool {
	t := NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return ctx.Err() == nil
	}
}
