//go:build linux

package child

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestBudgetOutlivesARun checks that many short runs together may log as much as one long run, and no
// more.
func TestBudgetOutlivesARun(t *testing.T) {
	for name, rate := range map[string]Rate{"lines": {Lines: 20, Bytes: 1 << 20}, "bytes": {Lines: 1 << 20, Bytes: 200}} {
		synctest.Test(t, func(t *testing.T) {
			core, logs := observer.New(zap.InfoLevel)
			budgets := NewBudgets(rate, virtual())
			const seconds = 30
			for range seconds * 10 {
				l := NewLimited(zap.New(core), budgets.Of("stdout"))
				say(l, 100)
				l.Close()
				time.Sleep(refillEvery / 10)
			}
			logged, dropped, _, _ := count(logs)
			if want := 20*burst + 20*seconds; logged > want || logged < want-20 || logged+dropped != seconds*10*100 {
				t.Errorf("%s: 300 runs in %d s logged %d lines and dropped %d, want some %d logged of %d", name, seconds, logged, dropped, want, seconds*10*100)
			}
			time.Sleep(time.Hour)
			before := logged
			l := NewLimited(zap.New(core), budgets.Of("stdout"))
			say(l, 1000)
			l.Close()
			if logged, _, _, _ = count(logs); logged-before != 20*burst {
				t.Errorf("%s: after an hour %d lines are logged at once, want %d", name, logged-before, 20*burst)
			}
		})
	}
}

// TestARunAfterOneThatSaidTooMuchIsHeard checks that a run that starts with an empty budget may log
// as soon as the budget is refilled.
func TestARunAfterOneThatSaidTooMuchIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		budgets := NewBudgets(Rate{Lines: 20, Bytes: 1 << 20}, virtual())
		l := NewLimited(zap.New(core), budgets.Of("stdout"))
		say(l, 1000)
		l.Close()
		before, _, _, _ := count(logs)
		l = NewLimited(zap.New(core), budgets.Of("stdout"))
		for range 100 {
			time.Sleep(refillEvery / 10)
			say(l, 1)
		}
		l.Close()
		if logged, _, _, _ := count(logs); logged-before < 80 {
			t.Errorf("%d of 100 lines in ten seconds are logged", logged-before)
		}
	})
}

// virtual is a clock with the virtual time of the test's synctest bubble.
func virtual() clock.Clock { return clocktest.Bubble{} }

// asleep is a clock that goes on while the machine sleeps; timers do not.
type asleep struct{ at record.Instant }

func (a *asleep) Now() record.Instant { return a.at }
func (*asleep) Wall() time.Time       { return time.Now() }

// TestBudgetGoesByItsClock checks that its own clock, and not timers, refills a budget.
func TestBudgetGoesByItsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		var c asleep
		budgets := NewBudgets(Rate{Lines: 20, Bytes: 1 << 20}, &c)
		logged := func() int {
			before, _, _, _ := count(logs)
			l := NewLimited(zap.New(core), budgets.Of("stdout"))
			say(l, 1000)
			l.Close()
			after, _, _, _ := count(logs)
			return after - before
		}
		if got := logged(); got != 20*burst {
			t.Fatalf("%d lines are logged at once, want %d", got, 20*burst)
		}
		time.Sleep(time.Hour)
		if got := logged(); got != 0 {
			t.Errorf("%d lines are logged though no time has passed by the clock", got)
		}
		c.at = c.at.Add(time.Hour)
		if got := logged(); got != 20*burst {
			t.Errorf("%d lines are logged after an hour by the clock, want %d", got, 20*burst)
		}
	})
}

// TestHugeRate checks that a rate that nobody checked, and of which a burst would not fit into an int, drops nothing.
func TestHugeRate(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	l := NewLimited(zap.New(core), NewBudget(Rate{Lines: math.MaxInt, Bytes: math.MaxInt}, clock.Boottime()))
	say(l, 10)
	l.Close()
	if logged, dropped, _, _ := count(logs); logged != 10 || dropped != 0 {
		t.Errorf("%d lines are logged and %d dropped, want 10 and none", logged, dropped)
	}
}
