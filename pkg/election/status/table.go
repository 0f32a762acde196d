package status

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Columns of the tables. Their order is stable; one with the group stands before them
// where there are several groups.
var (
	electionColumns = []string{"ELECTION", "HOLDER", "REVISION", "LOCATION", "STATE", "TOKEN", "AGE", "NOTE"}
	memberColumns   = []string{"MEMBER", "REVISION", "LOCATION", "READY", "STATE", "PREFERS", "LEADS", "RENEWED", "NOTE"}
)

// table shows elections, and below them the members that are not gone for good.
func (r Report) table() string {
	elections, members := r.Rows()
	var b strings.Builder
	b.WriteString(new(Aligner).Lines(elections))
	if len(members) > 1 {
		b.WriteString("\n" + new(Aligner).Lines(members))
	}
	return b.String()
}

// Rows are the cells of both tables, columns' names first.
func (r Report) Rows() (elections, members [][]string) {
	row := func(group string, cells []string) []string {
		if r.severalGroups {
			cells = append([]string{group}, cells...)
		}
		for i, c := range cells {
			if cells[i] = cut(c); c == "" && i < len(cells)-1 {
				cells[i] = "-"
			}
		}
		return cells
	}
	elections = append(elections, row("GROUP", append([]string{}, electionColumns...)))
	for _, e := range r.Elections {
		elections = append(elections, row(e.Group, e.cells(r.At)))
	}
	members = append(members, row("GROUP", append([]string{}, memberColumns...)))
	for _, m := range r.Members {
		if m.State != Ended {
			members = append(members, row(m.Group, m.cells(r.At)))
		}
	}
	return elections, members
}

func (e Election) cells(now time.Time) []string {
	state, token, note := string(e.State), "", e.Reason
	switch {
	case e.Stale && e.State == Led:
		state = "stale?"
	case e.Stale:
		note += "; it looks expired"
	}
	if e.Token != 0 {
		token = strconv.FormatUint(e.Token, 10)
	}
	if e.HandoverTo != "" {
		note = "left to " + e.HandoverTo
	}
	return []string{e.Name, e.Holder, e.Revision, e.Location, state, token, since(e.Acquired, now), note}
}

func (m Member) cells(now time.Time) []string {
	ready, state, note := "no", string(m.State), m.Reason
	if m.Ready {
		ready = "yes"
	}
	if m.State == Stale {
		state = "stale?"
	}
	if len(m.Standing) > 0 {
		note = "runners failed lately, or are not ready: " + strings.Join(m.Standing, ", ")
	}
	return []string{m.Identity, m.Revision, m.Location, ready, state, m.Preference, strconv.Itoa(m.Leads), since(m.Renewed, now), note}
}

// since is the time from then to now, for people; clocks may differ a little.
func since(then, now time.Time) string {
	if then.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, now.Sub(then)))
}

// Aligner writes rows so that their cells stand in columns. It remembers how wide these
// are, so that rows that come later fit below. The zero Aligner is ready.
type Aligner struct {
	widths []int
}

// Lines is one line for each row.
func (a *Aligner) Lines(rows [][]string) string {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(a.widths) {
				a.widths = append(a.widths, 0)
			}
			a.widths[i] = max(a.widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%-*s  ", a.widths[i], cell)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
