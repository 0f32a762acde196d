package clock

import (
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Alarm wakes one goroutine at an instant. A timer of package time stands still while
// the machine sleeps. The Alarm of Boottime does not: it rings as soon as the machine is
// awake again, on systems other than Linux within a second.
type Alarm interface {
	// C receives a value at, or shortly after, the instant that was set.
	C() <-chan struct{}
	// Set replaces the instant; zero, or one that has passed, rings at once. An earlier value
	// may still be in C.
	Set(at record.Instant)
	// Stop ends the alarm and all that it started. No method may be called after it.
	Stop()
}

// NewAlarm makes an alarm that follows the clock. The caller must Stop it. The error says
// that the system has no timers left.
func NewAlarm(c Clock) (Alarm, error) {
	if c != Boottime() {
		return newRuntimeAlarm(c), nil
	}
	return newBoottimeAlarm()
}

// forever is longer than anything waits.
const forever = 100 * 365 * 24 * time.Hour

// runtimeAlarm is a Timer, for clocks that are not CLOCK_BOOTTIME.
type runtimeAlarm struct {
	clock Clock
	timer *Timer
}

func newRuntimeAlarm(c Clock) *runtimeAlarm { return &runtimeAlarm{c, NewTimer(forever)} }

func (a *runtimeAlarm) C() <-chan struct{} { return a.timer.C }

func (a *runtimeAlarm) Set(at record.Instant) { a.timer.Reset(Until(a.clock, at)) }

func (a *runtimeAlarm) Stop() { a.timer.Stop() }

// lookAgain is how often a lookingAlarm looks at its clock.
const lookAgain = time.Second

// lookingAlarm is for clocks that go on while the machine, and every timer of package time with it, sleeps. It looks at
// its clock every second.
type lookingAlarm struct {
	clock Clock
	c     chan struct{}

	mu    sync.Mutex
	at    record.Instant
	timer *Timer
}

func newLookingAlarm(c Clock) *lookingAlarm {
	a := &lookingAlarm{clock: c, c: make(chan struct{}, 1)}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = AfterFunc(forever, a.look)
	return a
}

func (a *lookingAlarm) C() <-chan struct{} { return a.c }

func (a *lookingAlarm) Set(at record.Instant) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = max(at, 1)
	a.timer.Reset(min(Until(a.clock, a.at), lookAgain))
}

func (a *lookingAlarm) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = 0
	a.timer.Stop()
}

// look rings if it is time.
func (a *lookingAlarm) look() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at == 0 {
		return
	}
	if left := Until(a.clock, a.at); left > 0 {
		a.timer.Reset(min(left, lookAgain))
		return
	}
	a.at = 0
	select {
	case a.c <- struct{}{}:
	default:
	}
}
