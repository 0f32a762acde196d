package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// none is an empty cell; unknown is a cell without a measurement.
const (
	none    = "–"
	unknown = "not measured"
)

// grids are the whole table.
func (r *result) grids() []*grid { return []*grid{r.times(), r.costs()} }

// met says in words whether a target was met.
func met(is bool) string {
	if is {
		return "met"
	}
	return "**missed**"
}

// times are how long leadership takes to move.
func (r *result) times() *grid {
	g := &grid{
		title:  "Times in milliseconds. \"x limit\" is p50 as a multiple of \"update -> event\", the least that two clients of one API server need to tell each other something; \"of client-go\" is p50 as a share of client-go's.",
		header: []string{"", "what", "who", "n", "p50", "p90", "p99", "max", "x limit", "of client-go", "target", ""},
	}
	limit := r.Event.at(.5)
	row := func(id, what, who string, s sample, ofClientGo, target, verdict string) {
		ofLimit := none
		if limit > 0 && id != "P4" && id != "P11" && id != "P12" {
			ofLimit = fmt.Sprintf("%.1f", ratio(s.at(.5), limit))
		}
		g.add(id, what, who, fmt.Sprint(len(s)), ms(s.at(.5)), ms(s.at(.9)), ms(s.at(.99)), ms(s.at(1)), ofLimit, ofClientGo, target, verdict)
	}
	row("", "bare update", "API server", r.Update, none, none, none)
	row("", "update -> event at another client", "API server", r.Event, none, none, none)
	row("", "the same, of an API server that had rested for 50 ms", "API server", r.Rested, none, none, none)
	moves := slices.Clone(r.Moves)
	slices.SortStableFunc(moves, func(a, b move) int {
		return cmp.Or(cmp.Compare(len(a.Target), len(b.Target)), cmp.Compare(a.Target, b.Target), cmp.Compare(rank(a.Who), rank(b.Who)))
	})
	for _, m := range moves {
		if len(m.Took) == 0 {
			continue
		}
		of, target, verdict := none, none, none
		if m.Who != clientGo {
			target, verdict = r.timeTarget(m, limit)
			theirs := r.moveOf(m.Target, clientGo)
			if theirs == nil {
				theirs = r.moveOf(comparedWith(m.Target), clientGo)
			}
			if theirs != nil {
				of = fmt.Sprintf("%.3f", ratio(m.Took.at(.5), theirs.at(.5)))
			} else if m.Target == "P2" {
				of = "it has no priorities"
			} else {
				of = unknown
			}
		}
		row(m.Target, m.What, string(m.Who), m.Took, of, target, verdict)
	}
	return g
}

// comparedWith is the target with which we compare a time: client-go cannot prove a death.
func comparedWith(target string) string {
	if target == "P12" {
		return "P4"
	}
	return target
}

func rank(c contender) int {
	return slices.Index([]contender{primacy, program, parentless, clientGo}, c)
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func (r *result) moveOf(target string, who contender) sample {
	for _, m := range r.Moves {
		if m.Target == target && m.Who == who && len(m.Took) > 0 {
			return m.Took
		}
	}
	return nil
}

// timeTarget is the target of a move, and whether it was met.
func (r *result) timeTarget(m move, limit time.Duration) (target, verdict string) {
	s := m.Took
	if with := r.moveOf(m.Target, program); m.Target == "P11" && m.Who == parentless && with != nil {
		return "the parent adds <= 20 to p50", met(with.at(.5)-s.at(.5) <= 20*time.Millisecond)
	}
	if m.Burst || m.Who == parentless {
		return none, none // the targets are for one election
	}
	switch m.Target {
	case "P1":
		return "p50 <= 3 x limit, p99 <= 10 x", met(s.at(.5) <= 3*limit && s.at(.99) <= 10*limit)
	case "P2":
		return "p50 <= 6 x limit", met(s.at(.5) <= 6*limit)
	case "P4":
		t, err := record.Profile(r.Profile)
		if err != nil {
			return none, err.Error()
		}
		most := time.Duration(float64(t.LeaseDuration)*1.01) + 300*time.Millisecond
		return fmt.Sprintf("every one <= %s, none before the validity ended", ms(most)), met(s.at(1) <= most && r.Early == 0)
	case "P12":
		return "p50 <= 60, p99 <= 300", met(s.at(.5) <= 60*time.Millisecond && s.at(.99) <= 300*time.Millisecond)
	case "P11":
		return "<= 500 beyond the API server's answers (which are in this)", met(s.at(1) <= 500*time.Millisecond)
	}
	return none, none
}

// costs are all figures except times.
func (r *result) costs() *grid {
	g := &grid{
		title:  "Costs. Requests: per second, of all members together, without the API server's requests to itself. CPU is in percent of one core; memory is RSS.",
		header: []string{"", "what", "Primacy", "client-go", "of client-go", "target", ""},
	}
	add := func(id, what string, ours, theirs *float64, format, target string, ok bool) {
		show := func(f *float64) string {
			if f == nil {
				return unknown
			}
			return fmt.Sprintf(format, *f)
		}
		of, verdict := none, unknown
		if ours != nil && theirs != nil && *theirs != 0 {
			of = fmt.Sprintf("%.3f", *ours / *theirs)
		}
		if ours != nil {
			verdict = met(ok)
		}
		if target == "" {
			target, verdict = none, none
		}
		g.add(id, what, show(ours), show(theirs), of, target, verdict)
	}
	if r.P2.Terms > 0 {
		g.add("P3", fmt.Sprintf("overlaps in the trials of P2, %d terms", r.P2.Terms), fmt.Sprint(r.P2.Overlaps), "has no priorities", none, "0", met(r.P2.Overlaps == 0))
	}
	r.idleCosts(add)
	r.throughputCosts(g)
	r.deathCosts(g)
	for _, c := range r.Conflicts {
		if c.Who == primacy {
			of := c.Conflicts / float64(c.Handovers)
			var theirs *float64
			for _, t := range r.Conflicts {
				if t.Who == clientGo {
					x := t.Conflicts / float64(t.Handovers)
					theirs = &x
				}
			}
			add("P10", fmt.Sprintf("conflicts (409) for each of %d handovers, %d followers", c.Handovers, c.Followers), &of, theirs, "%.2f", "<= 1", of <= 1)
		}
	}
	return g
}

type adder func(id, what string, ours, theirs *float64, format, target string, ok bool)

// idleOf is the measurement of a contender with the given numbers of elections and members; nil if there is
// none.
func (r *result) idleOf(who contender, elections, members int) *idle {
	for i := range r.Idle {
		if p := &r.Idle[i]; p.Who == who && p.Elections == elections && p.Members == members {
			return p
		}
	}
	return nil
}

// part is a figure of a measurement; nil if there is none.
func part(p *idle, f func(*idle) float64) *float64 {
	if p == nil {
		return nil
	}
	x := f(p)
	return &x
}

func requestsOf(p *idle) float64 { return p.Requests }

// busiest is the CPU of the member that uses the most.
func busiest(p *idle) float64 { return slices.Max(p.CPU) }

// followersGoroutines is the largest number of goroutines of a follower.
func followersGoroutines(p *idle) float64 { return float64(slices.Max(p.Goroutines[1:])) }

// idleCosts adds the rows of targets P5 to P8.
func (r *result) idleCosts(add adder) {
	three := func(who contender) (all []idle) {
		for _, p := range r.Idle {
			if p.Who == who && p.Members == 3 {
				all = append(all, p)
			}
		}
		return all
	}
	for _, p := range three(primacy) {
		add("P5", fmt.Sprintf("requests/s, idle, %d elections x 3, by session", p.Elections), &p.Requests,
			part(r.idleOf(clientGo, p.Elections, 3), requestsOf), "%.2f", "<= 1.5", p.Requests <= 1.5)
	}
	timing, _ := record.Profile(r.Profile) // valid: the run used it
	for _, p := range three(byRecord) {
		most := float64(p.Elections)/timing.RenewInterval.Seconds() + 1
		add("P5", fmt.Sprintf("requests/s, idle, %d elections x 3, by record", p.Elections), &p.Requests,
			part(r.idleOf(clientGo, p.Elections, 3), requestsOf), "%.2f", fmt.Sprintf("<= %.1f", most), p.Requests <= most)
	}
	for _, p := range three(primacy) {
		cpu, target, most := busiest(&p), "", 0.
		switch p.Elections {
		case 300:
			target, most = "<= 0.3 %", .3
		case 10000:
			target, most = "<= 1 %", 1
		}
		add("P6", fmt.Sprintf("CPU, idle, %d elections x 3, the busiest member", p.Elections), &cpu,
			part(r.idleOf(clientGo, p.Elections, 3), busiest), "%.2f %%", target, cpu <= most)
	}
	r.memoryCosts(add, three)
	all := three(primacy)
	if len(all) == 0 {
		return
	}
	p := &all[len(all)-1]
	add("P8", fmt.Sprintf("goroutines of a follower, %d elections", p.Elections), part(p, followersGoroutines), nil, "%.0f", "<= 50", followersGoroutines(p) <= 50)
	if theirs := three(clientGo); len(theirs) > 0 {
		last := &theirs[len(theirs)-1]
		add("P8", fmt.Sprintf("the same, %d elections", last.Elections), part(r.idleOf(primacy, last.Elections, 3), followersGoroutines), part(last, followersGoroutines), "%.0f", "<= 50", true)
	}
}

// memoryCosts adds the rows of target P7: the memory that each further election costs.
func (r *result) memoryCosts(add adder, three func(contender) []idle) {
	growth := func(few, many *idle, member int) float64 {
		return (float64(many.RSS[member]) - float64(few.RSS[min(member, len(few.RSS)-1)])) / float64(many.Elections-few.Elections) / 1024
	}
	var theirs *float64
	if all := three(clientGo); len(all) > 1 {
		x := growth(&all[0], &all[len(all)-1], 0)
		theirs = &x
	}
	base, all := r.idleOf(primacy, 1, 1), three(primacy)
	if base == nil || len(all) == 0 {
		return
	}
	last := &all[len(all)-1]
	for member, who := range []string{"the leader", "a follower"} {
		x := growth(base, last, member)
		target := ""
		if last.Elections >= 10000 {
			target = "<= 4 KB"
		}
		add("P7", fmt.Sprintf("RSS growth for each of %d elections, %s", last.Elections, who), &x, theirs, "%.1f KB", target, x <= 4)
	}
}

// throughputCosts adds the rows of target P9, whose limit is the API server's own throughput.
func (r *result) throughputCosts(g *grid) {
	target := ">= 0.7 of the API server's"
	if raw := r.Cold.Alone; r.Cold.Elections > 0 && raw.Creates > 0 && raw.Updates > 0 {
		rate := float64(r.Cold.Elections) / r.Cold.Took.Seconds()
		of := rate * (1/raw.Creates + 1/raw.Updates)
		g.add("P9", fmt.Sprintf("%d elections won from cold by one member, a create and an update each; the API server alone: %.0f such pairs/s (%.0f creates/s, %.0f updates/s)", r.Cold.Elections,
			1/(1/raw.Creates+1/raw.Updates), raw.Creates, raw.Updates),
			fmt.Sprintf("%.0f/s, %.2f of the API server's", rate, of), unknown, none, target, met(of >= .7))
	}
	if raw := r.Retake.Alone; r.Retake.Elections > 1 && raw.Updates > 0 {
		rate := float64(r.Retake.Elections-1) / r.Retake.Took.Seconds()
		of := rate / raw.Updates
		g.add("P9", fmt.Sprintf("%d elections led again after a kill, an update each, from the first on; the API server alone: %.0f updates/s", r.Retake.Elections, raw.Updates),
			fmt.Sprintf("%.0f/s, %.2f of the API server's", rate, of), unknown, none, target, met(of >= .7))
		g.add("P9", "conflicts (409) and refusals (429) in that", fmt.Sprintf("%.0f and %.0f", r.Retake.Codes["409"], r.Retake.Codes["429"]), unknown, none, none, none)
	}
}
