package dev

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/cmd/primacy/view/viewtest"
	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// shown is a snapshot with an example of everything that the view can show.
func shown(t *testing.T) snapshot {
	s := newStage(t)
	s.shows("lock-one", s.held(stable0, 10, 1, ""))
	s.shows("lock-two", s.released(s.held(stable0, 11, 1, ""), "member is leaving"))
	s.shows("primacy-edge-stable-0-0", s.session(stable0, nil))
	report := s.board.report(s.now.Add(2 * time.Second))
	return snapshot{
		report: report, preferred: "stable", other: "canary", up: 83 * time.Second, led: view.CountLed(report),
		members: []memberRow{
			{name: "stable-0", revision: "stable", process: "running, pid 123", session: "live", leads: 1},
			{name: "stable-1", revision: "stable", process: "killed, back in 2 s", session: "not renewed"},
			{name: "canary-0", revision: "canary", process: "stopped", session: "-"},
		},
		recent: []string{"12:00:00 member stable-0 joined: revision stable, local", "12:00:01 one: stable-0 leads token 10",
			"12:00:02 member canary-0 ended by itself: exit status 1; it is started again\n    error: no", "12:00:03 two: nobody leads (stable-0 released it: member is leaving)"},
		folder: "/tmp/primacy-dev-1",
		byHand: shellWords("kubectl", "--kubeconfig", "/tmp/primacy-dev-1/kubeconfig", "-n", "edge-system", "patch", "configmap", "primacy-revisions",
			"--type", "merge", "-p", revisionKey{Name: "primacy-revisions", Key: "default"}.patch("canary")),
	}
}

// looks is the text on the terminal, without colours.
func looks(s snapshot, chosen, width, height int) string {
	return ansi.Strip(s.page(chosen, width, height).Draw(width, height)) + "\n"
}

func TestView(t *testing.T) {
	s := shown(t)
	viewtest.Golden(t, "view-100x32.txt", looks(s, 0, 100, 32))
	viewtest.Golden(t, "view-80x24.txt", looks(s, 1, 80, 24))
	s.other, s.byHand = "", nil
	viewtest.Golden(t, "view-60x14.txt", looks(s, 2, 60, 14))
}

// TestViewFits checks that the view fits every size of terminal.
func TestViewFits(t *testing.T) {
	s := shown(t)
	for i := range 200 {
		s.recent = append(s.recent, strings.Repeat("long ", i))
	}
	for width := 1; width < 130; width += 13 {
		for height := 1; height < 50; height += 3 {
			lines := strings.Split(s.page(0, width, height).Draw(width, height), "\n")
			if len(lines) != height {
				t.Fatalf("%dx%d: %d lines", width, height, len(lines))
			}
			for _, l := range lines {
				if ansi.StringWidth(l) > width {
					t.Fatalf("%dx%d: %q is %d wide", width, height, l, ansi.StringWidth(l))
				}
			}
		}
	}
}

// TestTitle checks that problems stand out in the title, too.
func TestTitle(t *testing.T) {
	s := shown(t)
	if got := s.title(); !strings.Contains(got, view.Bad.Of("1 of 2 elections led")) {
		t.Errorf("title: %q", got)
	}
	s.led = 2
	if got := s.title(); strings.Contains(got, string(view.Bad)) {
		t.Errorf("title where all is well: %q", got)
	}
}

// TestHostileView checks that text that members or others wrote reaches the terminal as plain text only.
func TestHostileView(t *testing.T) {
	s := newStage(t)
	evil := s.held("evil\x1b]0;owned\a\n", 10, 1, "")
	evil.Mark.Key = "\x1b[2J"
	s.shows("lock-one", evil)
	s.event(lock.Event{Kind: lock.Changed})
	content := snapshot{report: s.board.report(s.now), preferred: "\x1b[2J", recent: s.said, members: []memberRow{{}}}.page(0, 200, 30).Draw(200, 30)
	if strings.Contains(content, "\x1b]") || strings.Contains(content, "\x1b[2J") || strings.Contains(content, "\a") {
		t.Errorf("escaped: %q", content)
	}
}

func TestWrap(t *testing.T) {
	words := shellWords("kubectl", "-p", `it's "here"`, "", "a-word-that-is-longer-than-a-line")
	got := strings.Join(wrap(words, 21), "\n")
	want := "kubectl -p \\\n'it'\\''s \"here\"' '' \\\na-word-that-is-longer-than-a-line"
	if got != want {
		t.Errorf("wrapped:\n%s\nwant:\n%s", got, want)
	}
	if wrap(nil, 20) != nil {
		t.Error("nothing became something")
	}
}
