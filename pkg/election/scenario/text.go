package scenario

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

const (
	// together is how close moves must be to share a line.
	together = 100 * time.Millisecond
	// noticeable is how long a gap must be for its beginning to get a line of its own.
	noticeable = 100 * time.Millisecond
)

// WriteText writes the result for people: who led, what happened when, and the sums.
func (r *Result) WriteText(out io.Writer) error {
	var b strings.Builder
	for _, m := range r.Members {
		leads := "leads nothing"
		if len(m.Leads) > 0 {
			leads = "leads " + some(m.Leads)
		}
		fmt.Fprintf(&b, "%s, revision %s, %s\n", m.Name, m.Revision, leads)
	}
	fmt.Fprintf(&b, "settled %v after the first start, with new locks; 0s is that moment\n\n", r.Settled)
	lines := slices.Concat(r.Timeline, r.stops(), r.leads(), []Line{{r.For, "the end" + r.open()}})
	slices.SortStableFunc(lines, func(a, b Line) int { return cmp.Compare(a.At, b.At) })
	for _, l := range lines {
		fmt.Fprintf(&b, "%9v  %s\n", l.At, l.What)
	}
	b.WriteByte('\n')
	r.writeSums(&b)
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note      %s\n", n)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// open says which elections are without a leader at the end.
func (r *Result) open() string {
	var names []string
	for _, m := range r.Moves {
		if m.To == "" {
			names = append(names, m.Election)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; still without a leader: " + some(names)
}

// stops are the lines about work that ends and leaves a noticeable gap. Deaths are left out: they have lines
// of their own.
func (r *Result) stops() []Line {
	var lines []Line
	moves := slices.Clone(r.Moves)
	moves = slices.DeleteFunc(moves, func(m Move) bool { return m.Reason == "killed" || time.Duration(m.Gap) < noticeable && m.To != "" })
	slices.SortStableFunc(moves, func(a, b Move) int { return cmp.Compare(a.Stopped, b.Stopped) })
	for _, group := range grouped(moves, func(a, b Move) bool {
		return a.From == b.From && a.Reason == b.Reason && time.Duration(b.Stopped-a.Stopped) < together
	}) {
		lines = append(lines, Line{group[0].Stopped, fmt.Sprintf("%s stops %s: %s", group[0].From, elections(group), group[0].Reason)})
	}
	return lines
}

// leads are the lines about new leaders.
func (r *Result) leads() []Line {
	var lines []Line
	moves := slices.DeleteFunc(slices.Clone(r.Moves), func(m Move) bool { return m.To == "" })
	began := func(m Move) time.Duration { return time.Duration(m.Stopped + m.Gap) }
	for _, group := range grouped(moves, func(a, b Move) bool {
		return a.From == b.From && a.To == b.To && a.Reason == b.Reason && began(b)-began(a) < together
	}) {
		least, most := group[0].Gap, group[0].Gap
		for _, m := range group {
			least, most = min(least, m.Gap), max(most, m.Gap)
		}
		gap := most.String()
		if least.String() != gap {
			gap = least.String() + " to " + gap
		}
		m := group[0]
		lines = append(lines, Line{Seconds(began(m)), fmt.Sprintf("%s -> %s: %s, %s without a leader (%s)", m.From, m.To, elections(group), gap, m.Reason)})
	}
	return lines
}

// grouped puts each move into the first group whose first move it fits, else into a new group. Groups are in
// the order of their first moves.
func grouped(moves []Move, fits func(a, b Move) bool) (groups [][]Move) {
next:
	for _, m := range moves {
		for g := range groups {
			if fits(groups[g][0], m) {
				groups[g] = append(groups[g], m)
				continue next
			}
		}
		groups = append(groups, []Move{m})
	}
	return groups
}

func elections(group []Move) string {
	names := make([]string, len(group))
	for i, m := range group {
		names[i] = m.Election
	}
	slices.Sort(names)
	return some(names)
}

func (r *Result) writeSums(b *strings.Builder) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "election\tleader\trenewal\tmoves\tlongest gap\twithout a leader\toverlaps\toutage tolerated")
	for _, e := range r.Elections {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%v\t%v\t%d\t%s\n", e.Name, cmp.Or(e.Leader, "nobody"), e.Renewal, e.Moves, e.LongestGap, e.WithoutLeader, e.Overlaps, e.tolerates())
	}
	_ = w.Flush() // a strings.Builder never fails to write
	q := r.Requests
	fmt.Fprintf(b, "\nrequests  %d in %v, %.2f per second: %d beats of sessions, %d renewals of records, %d writes that take, release or create locks, %d reads\n",
		q.Total(), r.For, q.PerSecond, q.Beats, q.Renewals, q.Moves, q.Reads)
	if len(r.Overlaps) == 0 {
		fmt.Fprintln(b, "overlaps  none")
	}
	for _, o := range r.Overlaps {
		fmt.Fprintf(b, "OVERLAP   %s: %s and %s were both at work for %v, from %v on\n", o.Election, o.Members[0], o.Members[1], o.For, o.At)
	}
	if r.Outlived > 0 {
		fmt.Fprintf(b, "OUTLIVED  %d times work ran until its guard killed it at the deadline\n", r.Outlived)
	}
}

// tolerates says how long an outage may last.
func (e ElectionResult) tolerates() string {
	if e.FailsOpen == 0 {
		return e.Tolerates.String()
	}
	if time.Duration(e.FailsOpen) > 365*24*time.Hour {
		return "unbounded (fails open)"
	}
	return fmt.Sprintf("%v (+ %v, fails open)", e.Tolerates, e.FailsOpen)
}
