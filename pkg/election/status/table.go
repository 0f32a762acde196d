package status

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Columns of the tables. Their order is stable. With several groups a column with the group
// comes first; if not all locks are Leases beside the sessions, one with the lock's kind, and its namespace if that is another
// one, comes before the note.
var (
	electionColumns = []string{"ELECTION", "HOLDER", "REVISION", "LOCATION", "STATE", "TOKEN", "AGE", "NOTE"}
	memberColumns   = []string{"MEMBER", "REVISION", "LOCATION", "READY", "STATE", "PREFERS", "LEADS", "RENEWED", "NOTE"}
)

// table shows elections, and below them the members whose sessions have not ended, and those that were known to be
// dead before their sessions had lapsed.
func (r Report) table() string {
	elections, members := r.Rows()
	var b strings.Builder
	b.WriteString(new(Aligner).Lines(elections))
	if len(members) > 1 {
		b.WriteString("\n" + new(Aligner).Lines(members))
	}
	if len(r.Deaths) > 0 {
		died := [][]string{r.row("GROUP", slices.Clone(deathColumns))}
		for _, d := range r.Deaths {
			died = append(died, r.row(d.Group, d.cells(r.At)))
		}
		b.WriteString("\n" + new(Aligner).Lines(died))
	}
	return b.String()
}

// row is a row of a table, whose cells have no surprises for a terminal.
func (r Report) row(group string, cells []string) []string {
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

// Rows returns the cells of the tables of elections and of members; the first row has the names of the columns.
func (r Report) Rows() (elections, members [][]string) {
	row := r.row
	kind := func(kind string, cells []string) []string {
		if r.severalKinds {
			cells = slices.Insert(cells, len(cells)-1, kind)
		}
		return cells
	}
	elections = append(elections, row("GROUP", kind("LOCK", slices.Clone(electionColumns))))
	for _, e := range r.Elections {
		elections = append(elections, row(e.Group, kind(strings.TrimSuffix(string(e.Kind)+"/"+e.Namespace, "/"), e.cells(r.At))))
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
	if e.ForcedTo != "" {
		note = strings.TrimPrefix(note+"; asked to hand over to "+e.ForcedTo, "; ")
	}
	if others := e.ofOthers(); others != "" {
		note = strings.TrimPrefix(note+"; "+others, "; ")
	}
	note = strings.TrimPrefix(strings.Join(append([]string{note}, e.besides()...), "; "), "; ")
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
	switch {
	case slices.Equal(m.Standing, []string{record.EveryElection}):
		note = "runners failed lately, or are not ready, in more elections than a session can list"
	case len(m.Standing) > 0:
		note = "runners failed lately, or are not ready: " + strings.Join(m.Standing, ", ")
	}
	if m.Lags != "" {
		note = strings.TrimPrefix(note+"; "+m.Lags, "; ")
	}
	if len(m.Differs) > 0 {
		differs := "differs from others in " + strings.Join(m.Differs, ", ")
		note = strings.TrimPrefix(note+"; "+differs, "; ")
	}
	if len(m.Namesakes) > 0 {
		note = strings.TrimPrefix(note+"; another living member has its name: "+strings.Join(m.Namesakes, ", "), "; ")
	}
	if m.Drained {
		note = strings.TrimPrefix(note+"; drained", "; ")
	}
	return []string{m.Identity, m.Revision, m.Location, ready, state, m.Preference, strconv.Itoa(m.Leads), since(m.Renewed, now), note}
}

// since returns the time from then to now, for people; clocks may differ a little.
func since(then, now time.Time) string {
	if then.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, now.Sub(then)))
}

// Aligner writes rows with aligned columns. It remembers how wide the columns are, so that
// later rows fit below. The zero Aligner is ready for use.
type Aligner struct {
	widths []int
}

// Lines returns one line for each row.
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
