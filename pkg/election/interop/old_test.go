package interop_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/interop/elector"
)

// TestClientGo026 repeats planned handovers and deaths with client-go 0.26. It also shows that work
// overlaps if such an elector's lease is shorter than ours: the elector waits for its own duration
// and not for the one that we wrote.
func TestClientGo026(t *testing.T) {
	program := buildOld(t)
	patient := func(o *elector.Options) { o.LeaseDuration = max(o.LeaseDuration, ours().LeaseDuration) }
	for name, run := range map[string]func(*arena, string, func(*elector.Options)){
		"planned":         planned,
		"they are killed": theyAreKilled,
		"we are killed":   weAreKilled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(newArena(t, count(10)), program, patient)
		})
	}
	t.Run("less patient", func(t *testing.T) {
		t.Parallel()
		a := newArena(t, count(5))
		a.overlapping = true
		line := newCuttable()
		we := a.member("primacy", line, func(e *entry) { immediate(e); e.Slow = true })
		a.works(we)
		theirs := a.electorProcess("client-go", program, func(o *elector.Options) {
			o.RenewDeadline, o.LeaseDuration = o.RenewDeadline/2, ours().LeaseDuration/2
			o.RetryPeriod /= 2
		})
		a.sees(theirs, we)
		line.cut()
		a.works(theirs)
		a.took("47: we are cut off, it leads for so long beside us", func(l string) time.Duration {
			spans := a.spans[l]
			return spans[0].till.Sub(spans[1].from)
		})
	})
}
