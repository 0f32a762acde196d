package session

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestASlotTellsOfALongerLease checks rule published-before-held for a host that comes back with a shorter lease, or a
// smaller drift, than that of its former member. Only that member's slot tells members that join later how long it may
// still be at work. So a new session uses another slot until nobody waits for that member any more.
func TestASlotTellsOfALongerLease(t *testing.T) {
	const lasts, longer = 5 * time.Second, 60 * time.Second
	former := func(longest time.Duration, ppm int) record.Record {
		return record.Record{
			Holder: "h_1", Group: "g", Duration: lasts, Mark: &record.Mark{Identity: "h_1", Beat: 7, Duration: lasts},
			Member: &record.Member{Identity: "h_1", Setup: record.Setup{LongestLease: int(longest / time.Second), DriftPPM: ppm}},
		}
	}
	ended := func(r record.Record, by string) record.Record { return EndedRecord(&r, by, "ended") }
	first, other := SlotName("g", "h", 0), SlotName("g", "h", 1)
	waits := record.Timing{LeaseDuration: lasts, Drift: 0.01}
	over := func(longest time.Duration) record.Instant { return second.Add(waits.ObserverWait(2 * longest)) }
	for what, tt := range map[string]struct {
		was  record.Record
		at   record.Instant
		uses string
	}{
		"ended by another, with a longer lease":                       {ended(former(longer, 10_000), "h_2"), over(longer) - 1, other},
		"ended by another, with a longer lease, and its work is over": {ended(former(longer, 10_000), "h_2"), over(longer), first},
		"ended by another, with a larger drift":                       {ended(former(lasts, 20_000), "h_2"), over(lasts) - 1, other},
		"ended by another, with a larger drift, and its work is over": {ended(former(lasts, 20_000), "h_2"), over(lasts), first},
		"expired, with a longer lease":                                {former(longer, 10_000), 3600 * second, other},
		"expired, with a larger drift":                                {former(lasts, 20_000), 3600 * second, other},
		"ended by itself, with a longer lease":                        {ended(former(longer, 20_000), "h_1"), second, first},
		"ended by another, with our lease":                            {ended(former(lasts, 10_000), "h_2"), second, first},
		"ended by another, with a shorter one":                        {ended(former(time.Second, 5_000), "h_2"), second, first},
		"ended by another, and states nothing":                        {ended(former(0, 0), "h_2"), second, first},
		"expired, with our lease":                                     {former(lasts, 10_000), 3600 * second, first},
	} {
		t.Run(what, func(t *testing.T) {
			d := NewDirectory("g", waits)
			d.List(second, second, 10, []Shown{{first, &tt.was, record.Version{UID: "u", Revision: 10}}})
			own := NewOwn(Config{Group: "g", Host: "h", Timing: waits}, d,
				record.Member{Identity: "h_3", Setup: record.Setup{LongestLease: int(lasts / time.Second), DriftPPM: 10_000}})
			actions, _ := own.Step(tt.at)
			if w, is := actions[0].(Write); !is || w.Name != tt.uses {
				t.Errorf("it writes to %s, want %s", w.Name, tt.uses)
			}
		})
	}
}

// TestAUsedSlotStillTellsOfALongerLease checks rule published-before-held for a session whose leases were as long as those of
// its slot's former member, and are shorter now. It publishes the longer lease until nobody waits for that member any
// more.
func TestAUsedSlotStillTellsOfALongerLease(t *testing.T) {
	const lasts, longer = 5 * time.Second, 60 * time.Second
	waits := record.Timing{LeaseDuration: lasts, RenewInterval: time.Second, Drift: 0.01}
	former := record.Record{
		Holder: "h_1", Group: "g", Duration: lasts, Mark: &record.Mark{Identity: "h_1", Beat: 7, Duration: lasts},
		Member: &record.Member{Identity: "h_1", Setup: record.Setup{LongestLease: int(longer / time.Second)}},
	}
	first := SlotName("g", "h", 0)
	wait := record.Instant(waits.ObserverWait(2 * longer))
	for what, tt := range map[string]struct {
		was  record.Record
		at   record.Instant // when the new session takes the slot
		over record.Instant
	}{
		"ended by another": {EndedRecord(&former, "h_2", "expired"), 20 * second, second + wait},
		"expired":          {former, 3600 * second, 3600*second + wait},
		"ended by itself":  {EndedRecord(&former, "h_1", left), 20 * second, 0},
	} {
		t.Run(what, func(t *testing.T) {
			d := NewDirectory("g", waits)
			d.List(second, second, 10, []Shown{{first, &tt.was, record.Version{UID: "u", Revision: 10}}})
			m := record.Member{Identity: "h_3", Setup: record.Setup{LongestLease: int(longer / time.Second)}}
			own := NewOwn(Config{Group: "g", Host: "h", Timing: waits}, d, m)
			revision := uint64(10)
			says := func(now record.Instant) int {
				t.Helper()
				actions, _ := own.Step(now)
				for _, a := range actions {
					if w, is := a.(Write); is && w.Name == first {
						revision++
						d.Observe(now, first, &w.Record, record.Version{UID: "u", Revision: revision})
						own.WriteDone(now, w.Beat, machine.Committed, record.Version{UID: "u", Revision: revision})
					}
				}
				return d.slot(first).record.Member.LongestLease
			}
			if got := says(tt.at); got != m.LongestLease {
				t.Fatalf("as it takes the slot it says %d, want %d", got, m.LongestLease)
			}
			m.LongestLease = int(lasts / time.Second)
			own.Publish(m)
			if now := tt.at + second; now < tt.over {
				if got := says(now); got != int(longer/time.Second) {
					t.Errorf("after its leases became shorter it says %d, want %v", got, longer.Seconds())
				}
				if got := says(tt.over - 1); got != int(longer/time.Second) {
					t.Errorf("while others still wait it says %d, want %v", got, longer.Seconds())
				}
			}
			if got := says(max(tt.over, tt.at+second)); got != m.LongestLease {
				t.Errorf("once nobody waits it says %d, want %d", got, m.LongestLease)
			}
		})
	}
}
