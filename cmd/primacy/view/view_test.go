package view

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"go.uber.org/goleak"

	"github.com/primacy-dev/primacy/cmd/primacy/view/viewtest"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const (
	old0 = "old-0_00000001"
	new0 = "new-0_00000002"
)

func led(name, holder, revision string, token uint64, age time.Duration) status.Election {
	return status.Election{
		Name: name, Group: "edge", Lock: name, State: status.Led, Holder: holder, Revision: revision, Location: "local",
		Token: token, Acquired: now.Add(-age),
	}
}

func live(identity, revision string, leads int) status.Member {
	return status.Member{
		Identity: identity, Group: "edge", Revision: revision, Location: "local", Ready: true, State: status.Live, Preference: "1-9-0",
		Leads: leads, Session: "primacy-edge-" + NameOf(identity) + "-0", Renewed: now.Add(-time.Second),
	}
}

// report has an example of everything.
func report() status.Report {
	stale, free := led("certificates", old0, "1-9-0", 209, time.Hour), led("gateway", "", "", 210, time.Minute)
	stale.Stale = true
	free.State, free.HandoverTo = status.Released, new0
	gone := live("gone-0_00000003", "1-9-0", 0)
	gone.State = status.Ended
	unready := live(new0, "1-10-0", 1)
	unready.Ready = false
	return status.Report{
		At:        now,
		Elections: []status.Election{stale, led("endpoints", old0, "1-9-0", 206, time.Hour), free, led("ingress", new0, "1-10-0", 211, time.Second)},
		Members:   []status.Member{gone, unready, live(old0, "1-9-0", 2)},
	}
}

func page(r status.Report) Page {
	return Page{
		Title: "12:00:00  namespace edge-system",
		Parts: []Part{{Lines: Elections(r), Least: 3}, {}, {Lines: Members(r), Least: 2}},
		Events: []string{
			"11:59:58 member new-0 joined: revision 1-10-0, local", "11:59:59 ingress: old-0 -> new-0 leads, revision 1-10-0, token 211",
			"11:59:59 of several\nlines", "12:00:00 gateway: released, left to new-0",
		},
		Foot: []string{Key("q", "quit")},
	}
}

// TestPage compares what a terminal of each size shows, without colours, with files of testdata.
func TestPage(t *testing.T) {
	for name, size := range map[string][2]int{"page-120x24.txt": {120, 24}, "page-80x16.txt": {80, 16}, "page-60x10.txt": {60, 10}} {
		viewtest.Golden(t, name, ansi.Strip(page(report()).Draw(size[0], size[1]))+"\n")
	}
}

// TestPageFits checks that a page fits every size of terminal, and shows its foot.
func TestPageFits(t *testing.T) {
	r := report()
	for i := range 300 {
		r.Elections = append(r.Elections, led(strings.Repeat("x", i), old0, "1-9-0", uint64(i), time.Hour))
	}
	p := page(r)
	for i := range 200 {
		p.Events = append(p.Events, strings.Repeat("long ", i))
	}
	for width := 1; width < 130; width += 13 {
		for height := 1; height < 50; height += 3 {
			lines := strings.Split(p.Draw(width, height), "\n")
			if len(lines) != height {
				t.Fatalf("%dx%d: %d lines", width, height, len(lines))
			}
			for _, l := range lines {
				if ansi.StringWidth(l) > width {
					t.Fatalf("%dx%d: %q is %d wide", width, height, l, ansi.StringWidth(l))
				}
			}
			if !strings.HasPrefix(lines[height-1], string(Reverse)) {
				t.Fatalf("%dx%d: the foot is %q", width, height, lines[height-1])
			}
		}
	}
	for _, size := range [][2]int{{0, 0}, {80, 0}, {0, 24}, {-1, -1}} {
		if got := p.Draw(size[0], size[1]); got != "" {
			t.Errorf("before the size is known: %q", got)
		}
	}
}

// TestParts checks that parts drop lines, the longest part first, down to Least, and say how many are
// missing.
func TestParts(t *testing.T) {
	lines := func(n int) (l []string) {
		for range n {
			l = append(l, "line")
		}
		return l
	}
	for _, tt := range []struct {
		height int
		want   [3]int
	}{
		{40, [3]int{10, 6, 3}}, {24, [3]int{10, 6, 3}}, {23, [3]int{9, 6, 3}}, {20, [3]int{6, 6, 3}}, {19, [3]int{5, 6, 3}}, {18, [3]int{5, 5, 3}}, {1, [3]int{4, 2, 3}},
	} {
		p := Page{Parts: []Part{{Lines: lines(10), Least: 4}, {Lines: lines(6), Least: 2}, {Lines: lines(3)}}}
		for i, part := range p.fit(tt.height) {
			if len(part.Lines) != tt.want[i] {
				t.Errorf("height %d: part %d has %d lines, want %d", tt.height, i, len(part.Lines), tt.want[i])
			}
		}
	}
	p := Page{Parts: []Part{{Lines: lines(10), Least: 4}}, Events: []string{"event"}}
	if got := p.fit(12)[0].Lines; len(got) != 6 || ansi.Strip(got[5]) != "… and 5 more" {
		t.Errorf("with events: %q", got)
	}
}

// TestMarks checks that new lines, and lines with something wrong, stand out.
func TestMarks(t *testing.T) {
	lines := append(Elections(report()), Members(report())...)
	for i, want := range []Style{Dim, Bad, "e", Bad, Fresh, Dim, Bad, "o"} {
		if !strings.HasPrefix(lines[i], string(want)) {
			t.Errorf("line %d: %q, want %q", i, lines[i], want)
		}
	}
	if Members(status.Report{}) != nil {
		t.Error("a table of nobody")
	}
	if n := CountLed(report()); n != 2 {
		t.Errorf("%d led", n)
	}
}
