package config

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Overview is a text for people: which outage each election tolerates, how long a takeover takes
// at worst, and how many requests the given number of members send while no leadership moves.
func (c *Configuration) Overview(members int) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(cells ...string) { fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "\t"), " \t")) }
	if len(c.Elections) > 0 {
		line("election", "renewal", "outage tolerated", "takeover after a crash, at worst", "planned, at worst")
	}
	for _, e := range c.Elections {
		if e.Disabled {
			line(e.Name, "none", "any (enabled: false)")
			continue
		}
		line(e.Name, string(e.Lock.Renewal.Of(false)), e.tolerated(), e.afterCrash(), e.planned())
	}
	_ = w.Flush() // a strings.Builder never fails to write
	if len(c.Elections) > 0 {
		b.WriteByte('\n')
	}
	c.requests(line, members)
	_ = w.Flush()
	return b.String()
}

func (e *Election) tolerated() string {
	t := e.Timing
	if e.Outage != OutageFailopen {
		return t.Outage().String()
	}
	if e.FailopenFor == Unbounded {
		return "any (failopen)"
	}
	return (t.Validity() + e.FailopenFor - t.StopGrace - t.RenewInterval).String() + " (failopen)"
}

// afterCrash is the worst case: the members that would take over first have crashed, too.
func (e *Election) afterCrash() string {
	t := e.Timing
	return fmt.Sprintf("%v = leaseDuration %v x (1 + drift %v) + 3 x nominateDelay %v",
		(t.ObserverWait(t.LeaseDuration) + 3*t.NominateDelay).Round(time.Millisecond), t.LeaseDuration, t.Drift, t.NominateDelay)
}

func (e *Election) planned() string {
	t := e.Timing
	if e.Range { // the successor waits for the end of the last range
		return fmt.Sprintf("%v = the longer of leaseDuration %v and stopGrace %v, + nominateDelay %v",
			max(t.LeaseDuration, t.StopGrace)+t.NominateDelay, t.LeaseDuration, t.StopGrace, t.NominateDelay)
	}
	return fmt.Sprintf("%v = stopGrace %v + nominateDelay %v", t.StopGrace+t.NominateDelay, t.StopGrace, t.NominateDelay)
}

// requests says how many writes keep sessions and records alive.
func (c *Configuration) requests(line func(...string), members int) {
	perSecond := func(f float64) string { return fmt.Sprintf("%.2f", f) }
	every := func(d time.Duration) float64 { return 1 / d.Seconds() }
	beats, renewals := every(c.Timing.RenewInterval), 0.0
	var order []time.Duration
	count := map[time.Duration]int{}
	for _, e := range c.Elections {
		if e.Disabled || e.Lock.Renewal != record.RenewalRecord {
			continue
		}
		d := e.Timing.RenewInterval
		locks := 1
		if e.Lock.MigrateFrom != nil {
			locks = 2 // the leader renews both
		}
		if count[d] == 0 {
			order = append(order, d)
		}
		count[d] += locks
		renewals += float64(locks) * every(d)
	}
	sums := make([]string, len(order))
	for i, d := range order {
		sums[i] = fmt.Sprintf("%d / %v", count[d], d)
	}
	line("requests per second, while nothing moves")
	line("each member", perSecond(beats), fmt.Sprintf("= one beat of its session / renewInterval %v", c.Timing.RenewInterval))
	if len(sums) > 0 {
		line("whoever leads", perSecond(renewals), fmt.Sprintf("= locks renewed by record / their renewInterval: %s", strings.Join(sums, " + ")))
	} else {
		line("whoever leads", perSecond(0), "= no lock is renewed by record")
	}
	line(fmt.Sprintf("%d members together", members), perSecond(float64(members)*beats+renewals),
		fmt.Sprintf("= %d x %s + %s", members, perSecond(beats), perSecond(renewals)))
}
