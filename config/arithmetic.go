package config

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Arithmetic is a text for people: what the timings of the elections add up to. Elections
// with the same timing share a table.
func (c *Configuration) Arithmetic() string {
	var order []record.Timing
	names := make(map[record.Timing][]string)
	for _, e := range c.Elections {
		if names[e.Timing] == nil {
			order = append(order, e.Timing)
		}
		names[e.Timing] = append(names[e.Timing], e.Name)
	}
	if len(order) == 0 {
		return "(no elections)\n" + table(c.Timing)
	}
	tables := make([]string, len(order))
	for i, t := range order {
		tables[i] = strings.Join(names[t], ", ") + "\n" + table(t)
	}
	return strings.Join(tables, "\n")
}

// LeastOutage is the shortest outage of the API that ends work: that of the session, or of an election that is quicker.
func (c *Configuration) LeastOutage() time.Duration {
	least := c.Timing.Outage()
	for _, e := range c.Elections {
		least = min(least, e.Timing.Outage())
	}
	return least
}

// table has a row for each timing that can be set, and for each that is computed from them.
func table(t record.Timing) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name string, d time.Duration, meaning string, args ...any) {
		line := fmt.Sprintf("  %s\t%v\t%s", name, d.Round(time.Millisecond), fmt.Sprintf(meaning, args...))
		fmt.Fprintln(w, strings.TrimRight(line, " \t"))
	}
	wait := t.ObserverWait(t.LeaseDuration).Round(time.Millisecond)
	validity := t.Validity().Round(time.Millisecond)
	row("leaseDuration", t.LeaseDuration, "validity of one renewal, as others read it")
	row("renewInterval", t.RenewInterval, "time between two renewals")
	row("stopGrace", t.StopGrace, "time that runners get to stop")
	row("validity", validity, "= leaseDuration %v x (1 - drift %v): the holder relies on a renewal this long", t.LeaseDuration, t.Drift)
	row("outage tolerated", t.Outage(), "= validity %v - renewInterval %v - stopGrace %v: work goes on this long without the API", validity, t.RenewInterval, t.StopGrace)
	row("others wait", wait, "= leaseDuration %v x (1 + drift %v), from the last renewal they saw", t.LeaseDuration, t.Drift)
	row("takeover after a crash", wait+3*t.NominateDelay, "= others wait %v + 3 x nominateDelay %v at worst: one for each of those next in line that is gone too; a fraction of a second if its parent proves the death", wait, t.NominateDelay)
	row("handover", t.StopGrace, "= stopGrace at worst; then the nominee takes the lock at once")
	row("handover, nominee gone", t.StopGrace+t.NominateDelay, "= stopGrace %v + nominateDelay %v at worst; then anyone may take it", t.StopGrace, t.NominateDelay)
	row("preemptDelay", t.PreemptDelay, "another member must be better for this long before the holder hands over")
	row("minHold", t.MinHold, "a term younger than this is not handed over to a better member")
	row("standDown", t.StandDown, "a member that failed is passed over for this long, doubling up to %v", record.Doubled(t.StandDown, 5))
	_ = w.Flush() // a strings.Builder never fails to write
	return b.String()
}
