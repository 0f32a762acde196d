package clock

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Alarm wakes one goroutine at an instant. A timer of package time stands still while
// the machine sleeps. The Alarm of Boottime does not: it rings as soon as the machine is
// awake again.
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
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timer on CLOCK_BOOTTIME: %w", err)
	}
	a := &boottimeAlarm{fd: fd, file: os.NewFile(uintptr(fd), "timerfd"), c: make(chan struct{}, 1)}
	a.reader.Go(a.read)
	return a, nil
}

// forever is longer than anything waits.
const forever = 100 * 365 * 24 * time.Hour

// boottimeAlarm is a timerfd. One goroutine reads it until Stop.
type boottimeAlarm struct {
	fd     int
	file   *os.File
	c      chan struct{}
	reader sync.WaitGroup
}

func (a *boottimeAlarm) C() <-chan struct{} { return a.c }

func (a *boottimeAlarm) Set(at record.Instant) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(at, 1)))} // zero would disarm it
	if err := unix.TimerfdSettime(a.fd, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		panic("clock: timerfd cannot be set: " + err.Error())
	}
}

func (a *boottimeAlarm) Stop() {
	_ = a.file.Close() // ends the read; there is nothing to lose
	a.reader.Wait()
}

func (a *boottimeAlarm) read() {
	var expirations [8]byte
	for {
		if _, err := a.file.Read(expirations[:]); errors.Is(err, os.ErrClosed) {
			return
		}
		select {
		case a.c <- struct{}{}:
		default:
		}
	}
}

// runtimeAlarm is a Timer, for clocks that are not CLOCK_BOOTTIME.
type runtimeAlarm struct {
	clock Clock
	timer *Timer
}

func newRuntimeAlarm(c Clock) *runtimeAlarm { return &runtimeAlarm{c, NewTimer(forever)} }

func (a *runtimeAlarm) C() <-chan struct{} { return a.timer.C }

func (a *runtimeAlarm) Set(at record.Instant) { a.timer.Reset(Until(a.clock, at)) }

func (a *runtimeAlarm) Stop() { a.timer.Stop() }
