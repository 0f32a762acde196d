package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBoottimeAlarm(t *testing.T) {
	c := clock.Boottime()
	a, err := clock.NewAlarm(c)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Stop()
	a.Set(c.Now().Add(time.Hour))
	for _, wait := range []time.Duration{30 * time.Millisecond, 0, -time.Hour} {
		at := c.Now().Add(wait)
		a.Set(at)
		<-a.C()
		if c.Now() < at {
			t.Errorf("the alarm rang %v too soon", at.Sub(c.Now()))
		}
	}
	a.Set(0)
	<-a.C()
}

func TestAlarmInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.Bubble{}
		a, err := clock.NewAlarm(c)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Stop()
		at := c.Now().Add(time.Minute)
		a.Set(at.Add(time.Hour))
		a.Set(at)
		<-a.C()
		if c.Now() != at {
			t.Errorf("the alarm rang at %v, want %v", c.Now(), at)
		}
	})
}

func TestBoottimeDoesNotGoBack(t *testing.T) {
	c := clock.Boottime()
	before := c.Now()
	if now := c.Now(); now < before {
		t.Errorf("%d after %d", now, before)
	}
	if until := clock.Until(c, before); until > 0 {
		t.Errorf("%v until an instant that has passed", until)
	}
}
