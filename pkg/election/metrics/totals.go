package metrics

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/primacy-dev/primacy/pkg/election"
)

// totals are the metrics of all elections together, and of the member.
type totals struct {
	elections, leading, jeopardy, failopen, deadline, leaderless, longest, notPreferred *prometheus.Desc

	transitions, handovers, takeovers, stops, beats, writes *prometheus.Desc
	ended, hijacks, repairs, members, divided               *prometheus.Desc
}

func newTotals(constant prometheus.Labels) totals {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("primacy_"+name, help, labels, constant)
	}
	return totals{
		elections:    desc("elections", "Elections that this member takes part in."),
		leading:      desc("elections_leading", "Elections that this member leads."),
		jeopardy:     desc("elections_jeopardy", "Elections that this member leads while its renewals fail, and half of the outage that a term survives has passed."),
		failopen:     desc("elections_failing_open", "Elections that this member leads only because of outage: failopen."),
		leaderless:   desc("elections_leaderless", "Elections that this member sees nobody lead."),
		longest:      desc("leaderless_seconds", "For how long this member has seen nobody lead, in the election where that is the longest; 0 while somebody leads each."),
		notPreferred: desc("elections_not_preferred", "Elections that are led, but not by the preferred revision, or not by the member to which they are pinned."),
		deadline:     desc("deadline_seconds", "How long the present terms may last without another renewal, for the one that ends first; only while this member leads."),
		transitions:  desc("transitions_total", "Changes of this member's roles, by the new role and the reason.", "role", "reason"),
		handovers:    desc("handover_seconds", "How long nobody led before each term of this member whose predecessor gave the lock up, from when this member saw that."),
		takeovers:    desc("takeover_seconds", "How long nobody led before each term of this member whose predecessor died or fell silent, from its death if that was proved, else from its last sign of life."),
		stops:        desc("stop_seconds", "How long work took to stop, from when this member told it to."),
		beats:        desc("beat_seconds", "Time from sending a beat of this member's session until the watch showed it."),
		writes:       desc("write_seconds", "How long writes to the store took, by what they were for.", "purpose"),
		ended:        desc("sessions_ended_total", "Sessions of the group that this member saw end, by what ended them: left, lapsed, deleted, or the kind of proof that their member was dead. Each member counts all of them.", "how"),
		hijacks:      desc("hijacks_total", "Terms of this member that somebody's write to the lock ended, by the reason.", "reason"),
		repairs:      desc("repairs_total", "Locks without a credible owner that this member wrote anew."),
		members:      desc("members", "Members of the group whose sessions live, by revision.", "revision"),
		divided:      desc("divided_preference", "1 while living members of the group see different preferences."),
	}
}

func (d *totals) describe(to chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{
		d.elections, d.leading, d.jeopardy, d.failopen, d.deadline, d.leaderless, d.longest, d.notPreferred,
		d.transitions, d.handovers, d.takeovers, d.stops, d.beats, d.writes, d.ended, d.hijacks, d.repairs, d.members, d.divided,
	} {
		to <- one
	}
}

func (d *totals) collect(to chan<- prometheus.Metric, f *election.Figures) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge(d.elections, float64(f.Elections))
	gauge(d.leading, float64(f.Leading))
	gauge(d.jeopardy, float64(f.Jeopardy))
	gauge(d.failopen, float64(f.FailingOpen))
	if f.Leading > 0 {
		gauge(d.deadline, f.UntilDeadline.Seconds())
	}
	gauge(d.leaderless, float64(len(f.Leaderless)))
	gauge(d.longest, slices.Max(append(slices.Collect(maps.Values(f.Leaderless)), 0)).Seconds())
	gauge(d.notPreferred, float64(len(f.NotPreferred)))
	for passage, n := range f.Transitions {
		counter(d.transitions, n, passage.To.String(), string(passage.Reason))
	}
	distribution(to, d.handovers, f.Handovers)
	distribution(to, d.takeovers, f.Takeovers)
	distribution(to, d.stops, f.Stops)
	distribution(to, d.beats, f.Beats)
	for purpose, h := range f.Writes {
		distribution(to, d.writes, h, string(purpose))
	}
	for how, n := range f.SessionsEnded {
		counter(d.ended, n, string(how))
	}
	for why, n := range f.Hijacks {
		counter(d.hijacks, n, string(why))
	}
	counter(d.repairs, f.Repairs)
	for revision, n := range few(f.Members) {
		gauge(d.members, float64(n), revision)
	}
	gauge(d.divided, number(f.Divided))
}

// mostRevisions limits the series of members.
const mostRevisions = 16

// longestLabel limits the length of a revision, in bytes.
const longestLabel = 63

// few keeps the most frequent revisions, and sums the rest. Anybody may have written them.
func few(written map[string]int) map[string]int {
	members := map[string]int{}
	for name, n := range written {
		members[strings.ToValidUTF8(name[:min(len(name), longestLabel)], "?")] += n
	}
	if len(members) <= mostRevisions {
		return members
	}
	names := slices.SortedFunc(maps.Keys(members), func(a, b string) int { return cmp.Or(members[b]-members[a], cmp.Compare(a, b)) })
	kept := map[string]int{}
	for i, name := range names {
		shown := name
		if i >= mostRevisions {
			shown = "others"
		}
		kept[shown] += members[name]
	}
	return kept
}

// distribution shows a histogram, in seconds.
func distribution(to chan<- prometheus.Metric, d *prometheus.Desc, h election.Histogram, labels ...string) {
	buckets, n := make(map[float64]uint64, len(h.Bounds)), uint64(0)
	for i, bound := range h.Bounds {
		n += h.Counts[i]
		buckets[bound.Seconds()] = n
	}
	n += h.Counts[len(h.Bounds)]
	to <- prometheus.MustNewConstHistogram(d, n, h.Sum.Seconds(), buckets, labels...)
}
