package child

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// Runs that end at once and begin again may say together what one long run may.
func TestBudgetOutlivesARun(t *testing.T) {
	for name, rate := range map[string]Rate{"lines": {Lines: 20, Bytes: 1 << 20}, "bytes": {Lines: 1 << 20, Bytes: 200}} {
		synctest.Test(t, func(t *testing.T) {
			core, logs := observer.New(zap.InfoLevel)
			budgets := NewBudgets(rate)
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

// A run that begins with nothing left is heard as soon as there is something again.
func TestARunAfterOneThatSaidTooMuchIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		budgets := NewBudgets(Rate{Lines: 20, Bytes: 1 << 20})
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
