package record

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
)

// Timing holds the durations of one election. In PreemptDelay and MinHold zero is a value: nobody waits. In the other fields zero means
// that the value is missing, and Filled fills it in. So a Timing with only some fields has no PreemptDelay and no MinHold. No field may
// be longer than MaxTiming. To change one field and keep the rest, change a copy of a profile:
//
//	t := election.Default()
//	t.StopGrace = 2 * time.Second
type Timing struct {
	// LeaseDuration is the validity of one renewal; whole seconds.
	LeaseDuration time.Duration
	// RenewInterval is the time between two renewals.
	RenewInterval time.Duration
	// StopGrace is what runners get to stop before they are killed.
	StopGrace time.Duration
	// NominateDelay is how long all others leave a free lock to its nominee. After a death, each
	// next in line waits this much longer than the one before it.
	NominateDelay time.Duration
	// PreemptDelay is how long a member must have been better before the holder hands over to it.
	PreemptDelay time.Duration
	// MinHold is how old a term must be before the holder hands over to a better member.
	MinHold time.Duration
	// StandDown is how long others pass over a member that failed; doubles up to 32 x.
	StandDown time.Duration
	// Drift bounds how far the rates of two members' clocks differ (0.005 = 0.5 %).
	Drift float64
}

// DefaultDrift is the bound on clock rates that every profile assumes.
const DefaultDrift = 0.005

// LeastForeignWait is the shortest wait for a foreign elector that can be configured. Such
// electors' locks last whole seconds, so less is a mistake in units.
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

// Profile finds a named set of timings. The error lists the known names.
func Profile(name string) (Timing, error) {
	for _, p := range profiles {
		if p.name == name {
			return p.timing, nil
		}
	}
	return Timing{}, fmt.Errorf("unknown timing profile %q (want one of %s)", name, strings.Join(Profiles(), ", "))
}

// Profiles lists the names that Profile knows.
func Profiles() (names []string) {
	for _, p := range profiles {
		names = append(names, p.name)
	}
	return names
}

// MaxLeaseDuration is the longest leaseDuration. An object that states more was edited by a
// stranger, so nobody waits for longer than this.
const MaxLeaseDuration = time.Hour

// MaxTiming is the longest duration of a Timing, and MaxForeignWait the longest wait for a foreign elector whose renewDeadline and
// retryPeriod are no longer than that. They keep sums of timings far from overflow.
const (
	MaxTiming      = 365 * 24 * time.Hour
	MaxForeignWait = 4 * MaxTiming
)

// Filled returns the timing with a value for each field that must have one. A missing field comes from
// otherwise. But if t has a leaseDuration of its own, the field comes from the profile with the longest
// leaseDuration that is not longer than t's, or from the shortest profile. Drift describes the clocks, so
// it always comes from otherwise.
func (t Timing) Filled(otherwise Timing) Timing {
	from := otherwise
	if t.LeaseDuration != 0 && t.LeaseDuration != otherwise.LeaseDuration {
		from = profiles[0].timing
		for _, p := range profiles {
			if p.timing.LeaseDuration <= t.LeaseDuration {
				from = p.timing
			}
		}
		from.Drift = otherwise.Drift
	}
	t.LeaseDuration = cmp.Or(t.LeaseDuration, from.LeaseDuration)
	t.RenewInterval = cmp.Or(t.RenewInterval, from.RenewInterval)
	t.StopGrace = cmp.Or(t.StopGrace, from.StopGrace)
	t.NominateDelay = cmp.Or(t.NominateDelay, from.NominateDelay)
	t.StandDown = cmp.Or(t.StandDown, from.StandDown)
	t.Drift = cmp.Or(t.Drift, from.Drift)
	return t
}

// Validity is how long the holder itself relies on a renewal, counted from the moment at which the holder
// sent it: leaseDuration x (1 - drift).
func (t Timing) Validity() time.Duration { return t.HolderWait(t.LeaseDuration) }

// HolderWait shortens a duration by drift: a holder must stop in time even if its clock is slow.
func (t Timing) HolderWait(d time.Duration) time.Duration {
	return d - time.Duration(float64(d)*t.Drift)
}

// ObserverWait lengthens a duration by drift: an observer must wait long enough even if its clock is
// fast.
func (t Timing) ObserverWait(d time.Duration) time.Duration {
	return d + time.Duration(float64(d)*t.Drift)
}

// Bounds are the largest values that other members publish of their timings.
type Bounds struct {
	// LeaseDuration is the longest one of their elections, and Drift their largest one; zero where
	// nobody publishes more than we do.
	LeaseDuration time.Duration
	Drift         float64
}

// Among returns the timing for waits for other members: with the longer duration and the larger drift of
// t and others.
func (t Timing) Among(others Bounds) Timing {
	t.LeaseDuration = max(t.LeaseDuration, others.LeaseDuration)
	t.Drift = max(t.Drift, others.Drift)
	return t
}

// Outage is how long an outage of the API may last until work stops, if it begins at the worst
// moment, just before a renewal: leaseDuration x (1 - drift) - renewInterval - stopGrace.
func (t Timing) Outage() time.Duration { return t.Validity() - t.RenewInterval - t.StopGrace }

// Jeopardy is how long after its last renewal was sent a term is in jeopardy: half of the outage
// that it survives has then passed.
func (t Timing) Jeopardy() time.Duration { return t.RenewInterval + t.Outage()/2 }

// Extension is by how much a term that fails open is extended at a time: enough to miss the next
// extension once.
func (t Timing) Extension() time.Duration { return t.StopGrace + 2*t.RenewInterval }

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
	} else if t.LeaseDuration > MaxLeaseDuration {
		bad("leaseDuration", "%v is too long: a dead member's elections would be led by nobody for that long, so it must be %v or less", t.LeaseDuration, MaxLeaseDuration)
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{
		{"renewInterval", t.RenewInterval}, {"stopGrace", t.StopGrace}, {"nominateDelay", t.NominateDelay}, {"standDown", t.StandDown},
	} {
		if f.value <= 0 {
			bad(f.name, "%v must be more than 0", f.value)
		}
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{
		{"preemptDelay", t.PreemptDelay}, {"minHold", t.MinHold},
	} {
		if f.value < 0 {
			bad(f.name, "%v must not be negative", f.value)
		}
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{
		{"renewInterval", t.RenewInterval}, {"stopGrace", t.StopGrace}, {"nominateDelay", t.NominateDelay},
		{"preemptDelay", t.PreemptDelay}, {"minHold", t.MinHold}, {"standDown", t.StandDown},
	} {
		if f.value > MaxTiming {
			bad(f.name, "%v is longer than a year", f.value)
			errs[len(errs)-1].Hint = fmt.Sprintf("it must be %dh or less", MaxTiming/time.Hour)
		}
	}
	if t.Drift <= 0 || t.Drift >= 0.5 {
		bad("drift", "%v must be more than 0 and below 0.5: no two clocks run alike", t.Drift)
	}
	if len(errs) > 0 {
		return errs
	}
	if t.Outage() < t.RenewInterval {
		bad("renewInterval", "no renewal may fail: leaseDuration %v x (1 - drift %v) - stopGrace %v = %v, which must be at least 2 x renewInterval %v = %v",
			t.LeaseDuration, t.Drift, t.StopGrace, (t.Validity() - t.StopGrace).Round(time.Millisecond), t.RenewInterval, 2*t.RenewInterval)
		errs[0].Hint = t.fitting()
	}
	return errs
}

// fitting suggests values with which a renewal may fail.
func (t Timing) fitting() string {
	const step = 100 * time.Millisecond
	need := float64(2*t.RenewInterval+t.StopGrace) / (1 - t.Drift)
	hint := fmt.Sprintf("leaseDuration: %v or more would do", time.Duration(math.Ceil(need/float64(time.Second)))*time.Second)
	if room := (t.Validity() - 2*t.RenewInterval).Truncate(step); room > 0 {
		return hint + fmt.Sprintf(", or stopGrace: %v or less", room)
	}
	if part := (t.Validity() / 4).Truncate(step); part > 0 {
		hint += fmt.Sprintf(", or renewInterval and stopGrace: %v or less each", part)
	}
	return hint
}

// TimingError names one timing that cannot be kept.
type TimingError struct {
	Field   string
	Problem string
	// Hint says which values would do; empty if Problem does.
	Hint string
}

func (e TimingError) Error() string {
	if e.Hint != "" {
		return e.Field + ": " + e.Problem + " (" + e.Hint + ")"
	}
	return e.Field + ": " + e.Problem
}
