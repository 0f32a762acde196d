package clock

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// newBoottimeAlarm makes the alarm of Boottime. The error says that the system has no timers left.
func newBoottimeAlarm() (Alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timer on CLOCK_BOOTTIME: %w", err)
	}
	a := &boottimeAlarm{fd: fd, file: os.NewFile(uintptr(fd), "timerfd"), c: make(chan struct{}, 1)}
	a.reader.Go(a.read)
	return a, nil
}

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
