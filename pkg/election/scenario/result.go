package scenario

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
)

// Seconds is a duration that JSON shows as a number of seconds.
type Seconds time.Duration

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, time.Duration(s).Round(time.Microsecond).Seconds(), 'f', -1, 64), nil
}

// String is the duration, rounded for people.
func (s Seconds) String() string {
	d := time.Duration(s)
	switch {
	case d >= 10*time.Second:
		d = d.Round(10 * time.Millisecond)
	case d >= time.Second:
		d = d.Round(time.Millisecond)
	default:
		d = d.Round(100 * time.Microsecond)
	}
	return d.String()
}

// Result is the outcome of a play. Times count from when the group had settled.
type Result struct {
	Seed    uint64         `json:"seed"`
	For     Seconds        `json:"forSeconds"`
	Members []MemberResult `json:"members"`
	// Settled is how long the start took until every election was led and nobody moved.
	Settled   Seconds          `json:"settledAfterSeconds"`
	Elections []ElectionResult `json:"elections"`
	Moves     []Move           `json:"moves"`
	Overlaps  []Overlap        `json:"overlaps"`
	// Outlived counts work that went on until its guard killed it at the deadline.
	Outlived int      `json:"outlivedTheirDeadline"`
	Requests Requests `json:"requests"`
	// Timeline says what else happened.
	Timeline []Line `json:"timeline"`
	// Notes say what the result does not show.
	Notes []string `json:"notes,omitempty"`
}

// MemberResult is one member.
type MemberResult struct {
	Name     string `json:"name"`
	Revision string `json:"revision"`
	// Leads are the elections that it led at the start.
	Leads []string `json:"leadsAtStart"`
}

// ElectionResult is what one election saw.
type ElectionResult struct {
	Name    string `json:"name"`
	Renewal string `json:"renewal"`
	// Leader is the leader at the end; empty for nobody.
	Leader string `json:"leader"`
	Moves  int    `json:"moves"`
	// LongestGap is the longest time without a leader, and WithoutLeader is the sum of all such times.
	LongestGap    Seconds `json:"longestGapSeconds"`
	WithoutLeader Seconds `json:"withoutLeaderSeconds"`
	Overlaps      int     `json:"overlaps"`
	// Tolerates is how long an outage of the API that begins at the worst moment may last before work
	// stops. If FailsOpen is not zero, work goes on for FailsOpen after the end of its lease.
	Tolerates Seconds `json:"outageToleratedSeconds"`
	FailsOpen Seconds `json:"failsOpenSeconds,omitempty"`
}

// Move is one change of the leader.
type Move struct {
	Election string `json:"election"`
	// Stopped is when the old leader's work ended, and Reason why.
	Stopped Seconds `json:"stoppedAtSeconds"`
	From    string  `json:"from"`
	Reason  string  `json:"reason"`
	// To is the new leader, at work since Stopped + Gap; empty if there was none.
	To  string  `json:"to"`
	Gap Seconds `json:"gapSeconds"`
}

// Overlap is a time in which two members were at work.
type Overlap struct {
	Election string    `json:"election"`
	Members  [2]string `json:"members"`
	At       Seconds   `json:"atSeconds"`
	For      Seconds   `json:"forSeconds"`
}

// Requests are what members sent to the API after the group had settled.
type Requests struct {
	// Beats renew sessions, and end the sessions of dead members. Renewals renew records.
	Beats    int `json:"beats"`
	Renewals int `json:"renewals"`
	// Moves take, release and create locks.
	Moves     int     `json:"moves"`
	Reads     int     `json:"reads"`
	PerSecond float64 `json:"perSecond"`
}

// Total is the number of all requests.
func (r Requests) Total() int { return r.Beats + r.Renewals + r.Moves + r.Reads }

// Line is one line of the timeline.
type Line struct {
	At   Seconds `json:"atSeconds"`
	What string  `json:"what"`
}

func (w *world) result() *Result {
	r := &Result{
		Seed: w.s.Seed, For: Seconds(w.s.For), Settled: Seconds(w.zero), Outlived: w.judge.outlived,
		Requests: w.count, Timeline: w.lines, Moves: []Move{}, Overlaps: []Overlap{}, Members: []MemberResult{},
	}
	if r.Timeline == nil {
		r.Timeline = []Line{}
	}
	r.Requests.PerSecond = float64(w.count.Total()) / w.s.For.Seconds()
	for _, m := range w.s.Members {
		r.Members = append(r.Members, MemberResult{m.Name, m.Revision, w.ledAtStart(m.Name)})
	}
	for n := range w.s.Elections {
		r.Elections = append(r.Elections, w.electionResult(n, r))
	}
	slices.SortStableFunc(r.Moves, func(a, b Move) int { return cmp.Compare(a.Stopped+a.Gap, b.Stopped+b.Gap) })
	return r
}

// electionResult sums up one election, and adds its moves and overlaps to r.
func (w *world) electionResult(n int, r *Result) ElectionResult {
	e, t := &w.s.Elections[n], &w.judge.elections[n]
	out := ElectionResult{Name: e.Name, Renewal: string(e.Renewal.Of(false)), Leader: t.leader(), Tolerates: Seconds(e.Timing.Outage())}
	if e.Outage.Mode == machine.OutageFailOpen {
		out.FailsOpen = Seconds(e.Outage.For)
	}
	gaps, overlaps := t.gaps(w.zero, w.now)
	for _, g := range gaps {
		m := Move{Election: e.Name, Stopped: Seconds(g.begin - w.zero), From: g.from.member, Reason: g.from.why, Gap: Seconds(w.now - g.begin)}
		if g.to != nil {
			m.To, m.Gap = g.to.member, Seconds(g.end-g.begin)
			out.Moves++
		}
		out.LongestGap = max(out.LongestGap, m.Gap)
		out.WithoutLeader += m.Gap
		r.Moves = append(r.Moves, m)
	}
	out.Overlaps = len(overlaps)
	for _, o := range overlaps {
		r.Overlaps = append(r.Overlaps, Overlap{e.Name, [2]string{o.a.member, o.b.member}, Seconds(o.begin - w.zero), Seconds(o.end - o.begin)})
	}
	return out
}

func (w *world) ledAtStart(member string) []string {
	names := []string{}
	for n, t := range w.judge.elections {
		for _, s := range t.spans {
			if s.member == member && s.begin <= w.zero && (!s.over() || s.end > w.zero) {
				names = append(names, w.s.Elections[n].Name)
			}
		}
	}
	return names
}

// names lists elections by number.
func (w *world) names(elections []int) string {
	names := make([]string, len(elections))
	for i, e := range elections {
		names[i] = w.s.Elections[e].Name
	}
	return some(names)
}

// mostNamed is the most names that a line lists.
const mostNamed = 6

// some lists the names, or the first ones of many.
func some(names []string) string {
	if len(names) <= mostNamed {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:mostNamed], ", ") + " and " + strconv.Itoa(len(names)-mostNamed) + " more"
}
