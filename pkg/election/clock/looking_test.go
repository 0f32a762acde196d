package clock

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// sleeper is the clock of a machine that sleeps: the clock goes on, and timers do not.
type sleeper struct {
	start time.Time
	slept atomic.Int64
}

func (s *sleeper) Now() record.Instant {
	return record.Instant(1 + time.Since(s.start) + time.Duration(s.slept.Load()))
}
func (s *sleeper) Wall() time.Time { return time.Now() }

func TestLookingAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sleeper{start: time.Now()}
		a := newLookingAlarm(s)
		defer a.Stop()
		took := func(want time.Duration) {
			t.Helper()
			before := time.Now()
			<-a.C()
			if got := time.Since(before); got != want {
				t.Errorf("it rings after %v, want %v", got, want)
			}
		}
		a.Set(0)
		took(0)
		a.Set(s.Now().Add(2500 * time.Millisecond))
		took(2500 * time.Millisecond)
		a.Set(s.Now().Add(time.Hour))
		synctest.Wait()
		s.slept.Add(int64(time.Hour))
		took(time.Second)
		a.Set(s.Now().Add(time.Minute))
		a.Set(s.Now().Add(time.Hour))
		time.Sleep(2 * time.Minute)
		select {
		case <-a.C():
			t.Error("it rings at the first of two instants")
		default:
		}
	})
}
