package record

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

func profile(t *testing.T, name string) Timing {
	t.Helper()
	p, err := Profile(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFilled(t *testing.T) {
	fast, normal, relaxed := profile(t, "fast"), profile(t, DefaultProfile), profile(t, "relaxed")
	with := func(of Timing, change func(*Timing)) Timing { change(&of); return of }
	for name, c := range map[string]struct{ given, otherwise, want Timing }{
		"nothing":         {Timing{}, normal, with(normal, func(t *Timing) { t.PreemptDelay, t.MinHold = 0, 0 })},
		"whole":           {fast, normal, fast},
		"a grace":         {with(normal, func(t *Timing) { t.StopGrace = 0 }), fast, with(normal, func(*Timing) {})},
		"of a short one":  {Timing{LeaseDuration: 4 * time.Second, RenewInterval: time.Second}, normal, with(fast, func(t *Timing) { t.LeaseDuration, t.MinHold = 4*time.Second, 0 })},
		"of the longest":  {Timing{LeaseDuration: 200 * time.Second}, normal, with(relaxed, func(t *Timing) { t.LeaseDuration, t.PreemptDelay, t.MinHold = 200*time.Second, 0, 0 })},
		"the same lease":  {Timing{LeaseDuration: 15 * time.Second}, with(normal, func(t *Timing) { t.StandDown = 7 }), with(normal, func(t *Timing) { t.StandDown, t.PreemptDelay, t.MinHold = 7, 0, 0 })},
		"another's clock": {Timing{LeaseDuration: 5 * time.Second}, with(normal, func(t *Timing) { t.Drift = 0.1 }), with(fast, func(t *Timing) { t.Drift, t.MinHold = 0.1, 0 })},
	} {
		got := c.given.Filled(c.otherwise)
		if got != c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
		if errs := got.Check(); len(errs) > 0 {
			t.Errorf("%s cannot be kept: %v", name, errs)
		}
	}
}

// TestCheckRefuses checks that Check refuses a zero in a field that must not be zero, if nothing fills it
// in, a leaseDuration longer than any wait, and timings longer than MaxTiming, whose sums would overflow.
func TestCheckRefuses(t *testing.T) {
	for field, change := range map[string]func(*Timing){
		"leaseDuration": func(t *Timing) { t.LeaseDuration = MaxLeaseDuration + time.Second },
		"renewInterval": func(t *Timing) { t.RenewInterval = 0 },
		"stopGrace":     func(t *Timing) { t.StopGrace = 0 },
		"nominateDelay": func(t *Timing) { t.NominateDelay = 0 },
		"standDown":     func(t *Timing) { t.StandDown = 0 },
		"drift":         func(t *Timing) { t.Drift = 0 },
		"minHold":       func(t *Timing) { t.MinHold = -1 },
	} {
		timing := profile(t, "relaxed")
		change(&timing)
		if errs := timing.Check(); len(errs) != 1 || errs[0].Field != field {
			t.Errorf("%s: %v", field, errs)
		}
	}
	for field, of := range map[string]func(*Timing) *time.Duration{
		"renewInterval": func(t *Timing) *time.Duration { return &t.RenewInterval },
		"stopGrace":     func(t *Timing) *time.Duration { return &t.StopGrace },
		"nominateDelay": func(t *Timing) *time.Duration { return &t.NominateDelay },
		"preemptDelay":  func(t *Timing) *time.Duration { return &t.PreemptDelay },
		"minHold":       func(t *Timing) *time.Duration { return &t.MinHold },
		"standDown":     func(t *Timing) *time.Duration { return &t.StandDown },
	} {
		for _, value := range []time.Duration{MaxTiming + 1, math.MaxInt64} {
			timing := profile(t, "relaxed")
			*of(&timing) = value
			want := fmt.Sprintf("%s: %v is longer than a year (it must be 8760h or less)", field, value)
			if errs := timing.Check(); len(errs) != 1 || errs[0].Error() != want {
				t.Errorf("%v, want %s", errs, want)
			}
		}
	}
	longest := profile(t, "single-node")
	longest.LeaseDuration = MaxLeaseDuration
	longest.NominateDelay, longest.PreemptDelay, longest.MinHold, longest.StandDown = MaxTiming, MaxTiming, MaxTiming, MaxTiming
	if errs := longest.Check(); len(errs) > 0 {
		t.Errorf("%v: %v", longest, errs)
	}
}

// TestDoubled checks that a back-off doubles up to 32 x, and does not overflow.
func TestDoubled(t *testing.T) {
	for _, c := range []struct {
		base time.Duration
		n    int
		want time.Duration
	}{
		{time.Second, -1, time.Second}, {time.Second, 0, time.Second}, {time.Second, 3, 8 * time.Second}, {time.Second, 70, 32 * time.Second},
		{0, 5, 0}, {MaxTiming, 5, 32 * MaxTiming}, {10 * MaxTiming, 5, math.MaxInt64}, {math.MaxInt64, 1, math.MaxInt64}, {math.MaxInt64, 0, math.MaxInt64},
	} {
		if got := Doubled(c.base, c.n); got != c.want {
			t.Errorf("%v, doubled %d times, is %v, want %v", c.base, c.n, got, c.want)
		}
	}
}

// TestAHintHelps checks that what the hint says would do.
func TestAHintHelps(t *testing.T) {
	fast := profile(t, "fast")
	for lease := time.Second; lease < 4*time.Second; lease += time.Second {
		short := Timing{LeaseDuration: lease}.Filled(fast)
		errs := short.Check()
		if len(errs) != 1 || errs[0].Hint == "" || !strings.HasSuffix(errs[0].Error(), "("+errs[0].Hint+")") {
			t.Fatalf("lease %v: %v", lease, errs)
		}
		var longer, less time.Duration
		for _, word := range strings.Fields(errs[0].Hint) {
			d, err := time.ParseDuration(word)
			switch {
			case err != nil:
			case longer == 0:
				longer = d
			default:
				less = d
			}
		}
		changed := short
		changed.LeaseDuration = longer
		if errs := changed.Check(); errs != nil || longer == 0 {
			t.Errorf("lease %v, as the hint says: %v", longer, errs)
		}
		changed = short
		if changed.StopGrace = less; strings.Contains(short.Check()[0].Hint, "renewInterval") {
			changed.RenewInterval = less
		}
		if errs := changed.Check(); errs != nil || less == 0 {
			t.Errorf("lease %v and %v, as the hint says: %v", lease, less, errs)
		}
	}
}
