package record

import (
	"fmt"
	"strings"
	"time"
)

// Timing is how long everything lasts in one election.
type Timing struct {
	// LeaseDuration is the validity of one renewal; whole seconds.
	LeaseDuration time.Duration
	// RenewInterval is the time between two renewals.
	RenewInterval time.Duration
	// StopGrace is what runners get to stop before they are killed.
	StopGrace time.Duration
	// NominateDelay is how long everybody else leaves a free lock to its nominee, and after a
	// death the next in line to the one before.
	NominateDelay time.Duration
	// PreemptDelay is how long a member must have been better before the holder drains.
	PreemptDelay time.Duration
	// MinHold is the age before which a term is not drained for a better member.
	MinHold time.Duration
	// StandDown is how long a member that failed is passed over; doubles up to 32 x.
	StandDown time.Duration
	// Drift bounds how far the rates of two members' clocks differ (0.005 = 0.5 %).
	Drift float64
}

// DefaultDrift is the bound on clock rates that every profile assumes.
const DefaultDrift = 0.005

// LeastForeignWait is the shortest time after which a foreign elector may be said to have
// stopped. Such electors' locks last whole seconds; less is a mistake in units.
const LeastForeignWait = time.Second

// DefaultProfile is the name of the profile that applies where none is named.
const DefaultProfile = "default"

var profiles = []struct {
	name   string
	timing Timing
}{
	{"fast", Timing{5 * time.Second, time.Second, time.Second, time.Second, 0, 2 * time.Second, 10 * time.Second, DefaultDrift}},
	{DefaultProfile, Timing{15 * time.Second, 3 * time.Second, 5 * time.Second, 2 * time.Second, 2 * time.Second, 10 * time.Second, 60 * time.Second, DefaultDrift}},
	{"relaxed", Timing{137 * time.Second, 26 * time.Second, 30 * time.Second, 5 * time.Second, 10 * time.Second, 60 * time.Second, 300 * time.Second, DefaultDrift}},
	{"single-node", Timing{270 * time.Second, 60 * time.Second, 30 * time.Second, 5 * time.Second, 10 * time.Second, 60 * time.Second, 300 * time.Second, DefaultDrift}},
}

// Profile finds a named set of timings. The error lists the names there are.
func Profile(name string) (Timing, error) {
	var names []string
	for _, p := range profiles {
		if p.name == name {
			return p.timing, nil
		}
		names = append(names, p.name)
	}
	return Timing{}, fmt.Errorf("unknown timing profile %q (want one of %s)", name, strings.Join(names, ", "))
}

// Validity is how long the holder itself relies on a renewal, counted from the moment
// it sent it: leaseDuration x (1 - drift).
func (t Timing) Validity() time.Duration { return t.HolderWait(t.LeaseDuration) }

// HolderWait shortens a duration by drift: a holder's clock must not run past it.
func (t Timing) HolderWait(d time.Duration) time.Duration {
	return d - time.Duration(float64(d)*t.Drift)
}

// ObserverWait lengthens a duration by drift: what an observer waits out.
func (t Timing) ObserverWait(d time.Duration) time.Duration {
	return d + time.Duration(float64(d)*t.Drift)
}

// Outage is how long the API may be away at the worst moment, just before a renewal,
// until work stops: leaseDuration x (1 - drift) - renewInterval - stopGrace.
func (t Timing) Outage() time.Duration { return t.Validity() - t.RenewInterval - t.StopGrace }

// Check says which timings cannot be kept, each with its arithmetic; nil when all can.
func (t Timing) Check() []TimingError {
	var errs []TimingError
	bad := func(field, format string, args ...any) {
		errs = append(errs, TimingError{Field: field, Problem: fmt.Sprintf(format, args...)})
	}
	if t.LeaseDuration < time.Second {
		bad("leaseDuration", "%v is too short: a Lease stores whole seconds, so it must be 1s or more", t.LeaseDuration)
	} else if t.LeaseDuration%time.Second != 0 {
		bad("leaseDuration", "%v is not a whole number of seconds, and a Lease stores whole seconds", t.LeaseDuration)
	}
	if t.RenewInterval <= 0 {
		bad("renewInterval", "%v must be more than 0", t.RenewInterval)
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{
		{"stopGrace", t.StopGrace}, {"nominateDelay", t.NominateDelay}, {"preemptDelay", t.PreemptDelay},
		{"minHold", t.MinHold}, {"standDown", t.StandDown},
	} {
		if f.value < 0 {
			bad(f.name, "%v must not be negative", f.value)
		}
	}
	if t.Drift < 0 || t.Drift >= 0.5 {
		bad("drift", "%v must be at least 0 and below 0.5", t.Drift)
	}
	if len(errs) > 0 {
		return errs
	}
	if t.Outage() < t.RenewInterval {
		bad("renewInterval", "no renewal may fail: leaseDuration %v x (1 - drift %v) - stopGrace %v = %v, which must be at least 2 x renewInterval %v = %v",
			t.LeaseDuration, t.Drift, t.StopGrace, (t.Validity() - t.StopGrace).Round(time.Millisecond), t.RenewInterval, 2*t.RenewInterval)
	}
	return errs
}

// TimingError names one timing that cannot be kept.
type TimingError struct {
	Field   string
	Problem string
}

func (e TimingError) Error() string { return e.Field + ": " + e.Problem }
