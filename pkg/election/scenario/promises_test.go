package scenario

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// seeds is the number of seeds that each promise is checked with.
const seeds = 25

func eachSeed(t *testing.T, f func(t *testing.T, profile string, seed uint64)) {
	for _, profile := range []string{"fast", record.DefaultProfile} {
		t.Run(profile, func(t *testing.T) {
			for seed := range uint64(seeds) {
				f(t, profile, seed)
			}
		})
	}
}

// prompt allows for some requests, and for seeing what they wrote, which takes milliseconds each.
const prompt = 50 * time.Millisecond

// TestGapAfterADeath checks that after a death the others wait for as long as the arithmetic says, whether
// records or sessions renew terms.
func TestGapAfterADeath(t *testing.T) {
	eachSeed(t, func(t *testing.T, profile string, seed uint64) {
		s := three(t, profile, Event{Kind: Kill, At: 10 * time.Second, Member: Leader})
		s.Seed = seed
		r := play(t, s)
		dead := false
		for _, m := range r.Moves {
			dead = dead || m.Reason == "killed"
			wait := s.Timing.ObserverWait(s.Timing.LeaseDuration)
			if gap := time.Duration(m.Gap); m.To == "" || gap > wait+s.Timing.NominateDelay+prompt || gap < wait-s.Timing.RenewInterval*5/4 {
				t.Errorf("seed %d: %+v, others wait %v", seed, m, wait)
			}
		}
		if !dead {
			t.Errorf("seed %d: the death of who led most moved nothing", seed)
		}
	})
}

// TestGapOfASwitch checks that a switch of the default moves everything, and that no gap is longer than two
// writes.
func TestGapOfASwitch(t *testing.T) {
	eachSeed(t, func(t *testing.T, profile string, seed uint64) {
		s := three(t, profile, Event{Kind: Default, At: 30 * time.Second, Revision: "green"})
		s.Seed, s.StopTime = seed, 700*time.Millisecond
		r := play(t, s)
		if len(r.Moves) != len(s.Elections) {
			t.Errorf("seed %d: %d moves", seed, len(r.Moves))
		}
		for _, m := range r.Moves {
			if m.To != "m3" || time.Duration(m.Gap) > 2*(writeLatency+showLatency) || time.Duration(m.Stopped) < 30*time.Second+s.Timing.PreemptDelay+s.StopTime {
				t.Errorf("seed %d: %+v", seed, m)
			}
		}
	})
}

// TestShortOutages checks that an outage stops nothing if it leaves enough time to find out that it is over:
// for records one retry, for sessions one retry of the watch, which waits longer the longer the outage lasts.
func TestShortOutages(t *testing.T) {
	eachSeed(t, func(t *testing.T, profile string, seed uint64) {
		timing := timingOf(t, profile)
		s := three(t, profile, Event{Kind: APIAway, At: 10 * time.Second, For: timing.Outage() - timing.RenewInterval*3/4})
		s.Seed = seed
		for _, m := range play(t, s).Moves {
			if m.Election >= "d" {
				t.Errorf("seed %d: %+v, renewed by record", seed, m)
			}
		}
		s.Events[0].For = timing.Outage() / 3
		if moves := play(t, s).Moves; len(moves) != 0 {
			t.Errorf("seed %d: %+v", seed, moves)
		}
	})
}

// TestLongOutages checks that an outage of two leases stops everything in time, and that after the outage
// every election is led again.
func TestLongOutages(t *testing.T) {
	eachSeed(t, func(t *testing.T, profile string, seed uint64) {
		timing := timingOf(t, profile)
		begin, end := 10*time.Second, 10*time.Second+2*timing.LeaseDuration
		s := three(t, profile, Event{Kind: APIAway, At: begin, For: end - begin})
		s.Seed = seed
		r := play(t, s)
		stopped := map[string]bool{}
		for _, m := range r.Moves {
			at := time.Duration(m.Stopped)
			if at > begin && at <= begin+timing.Validity() {
				stopped[m.Election] = true
				if led := at + time.Duration(m.Gap); led < end || led > end+2*timing.ObserverWait(timing.LeaseDuration) {
					t.Errorf("seed %d: led again at %v: %+v", seed, led, m)
				}
			}
		}
		if len(stopped) != len(s.Elections) {
			t.Errorf("seed %d: only %v stopped in time: %+v", seed, stopped, r.Moves)
		}
	})
}

// TestLongOutagesOfNamedLocks checks the end of an outage with locks that are watched by name and have leases of different lengths, so
// members give up one lock after the other while their watch is broken.
func TestLongOutagesOfNamedLocks(t *testing.T) {
	eachSeed(t, func(t *testing.T, profile string, seed uint64) {
		s := three(t, profile, Event{Kind: APIAway, At: 10 * time.Second, For: time.Minute})
		s.Seed, s.For = seed, 4*time.Minute
		for e := 1; e < len(s.Elections); e++ {
			one := &s.Elections[e]
			one.Lock, one.Renewal = Lock{Store: "named", Name: one.Name}, record.RenewalRecord
			one.Timing.LeaseDuration *= time.Duration(e)
			one.Timing.RenewInterval *= time.Duration(e)
		}
		again := map[string]bool{}
		for _, m := range play(t, s).Moves {
			again[m.Election] = again[m.Election] || m.Gap > 0
		}
		if len(again) != len(s.Elections) {
			t.Errorf("seed %d: led again: %v", seed, again)
		}
	})
}

// TestFailOpen checks that an election that fails open goes on for as long as the API is away.
func TestFailOpen(t *testing.T) {
	eachSeed(t, func(t *testing.T, profile string, seed uint64) {
		timing := timingOf(t, profile)
		end := 10*time.Second + 2*timing.LeaseDuration
		s := three(t, profile, Event{Kind: APIAway, At: 10 * time.Second, For: 2 * timing.LeaseDuration})
		s.Seed = seed
		for e := range s.Elections {
			s.Elections[e].Renewal = record.RenewalRecord
			s.Elections[e].Outage = machine.Outage{Mode: machine.OutageFailOpen, For: time.Hour}
		}
		for _, m := range play(t, s).Moves {
			if time.Duration(m.Stopped) < end {
				t.Errorf("seed %d: %+v", seed, m)
			}
		}
	})
}

// TestRequestsOfAQuietTime checks that in a quiet time each member beats once per renewInterval, and the
// leader renews each record once per renewInterval.
func TestRequestsOfAQuietTime(t *testing.T) {
	eachSeed(t, func(t *testing.T, profile string, seed uint64) {
		s := three(t, profile)
		s.Seed = seed
		r := play(t, s)
		intervals := int(s.For / s.Timing.RenewInterval)
		within := func(what string, got, want, of int) {
			if got > want || got < want-2*of-want/50 {
				t.Errorf("seed %d: %d %s, want %d", seed, got, what, want)
			}
		}
		within("beats", r.Requests.Beats, 3*intervals, 3)
		if q := r.Requests; q.Renewals < 2*intervals || q.Renewals > 3*intervals || q.Moves+q.Reads != 0 {
			t.Errorf("seed %d: %+v", seed, q)
		}
	})
}

// TestSlowWorkIsKilledInTime checks that work that is too slow to stop is killed before its lease is over.
func TestSlowWorkIsKilledInTime(t *testing.T) {
	s := three(t, "fast", Event{Kind: APIAway, At: 10 * time.Second, For: 20 * time.Second})
	s.StopTime = time.Minute
	r := play(t, s)
	killed := 0
	for _, m := range r.Moves {
		if m.Reason != "not renewed in time; killed at its deadline" {
			continue
		}
		killed++
		if last := time.Duration(m.Stopped) - 10*time.Second; last > s.Timing.Validity() {
			t.Errorf("%s worked for %v without the API, validity is %v", m.Election, last, s.Timing.Validity())
		}
	}
	if killed != len(s.Elections) {
		t.Errorf("%d were killed: %+v", killed, r.Moves)
	}
}
