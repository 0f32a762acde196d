package app

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/mapstest"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// twoRevisions is a group with members "old" of revision a and "new" of b; holder leads election "one".
func twoRevisions(holder, revision string) status.Report {
	member := func(name, revision string) status.Member {
		return status.Member{Group: "edge", Identity: name + "_00000001", Revision: revision, Ready: true, State: status.Live, Preference: "a"}
	}
	return status.Report{
		Elections: []status.Election{{Group: "edge", Name: "one", Holder: holder + "_00000001", Revision: revision, State: status.Led}},
		Members:   []status.Member{member("old", "a"), member("new", "b")},
	}
}

// TestMoved checks, among others, that a pin to a member that is not ready moves nothing.
func TestMoved(t *testing.T) {
	pinned := func(revision, member string) record.Preferred {
		p := record.Prefer(revision)
		p.Member = member
		return p
	}
	for _, tt := range []struct {
		holder, revision string
		is               record.Preferred
		want             string
	}{
		{"new", "b", record.Prefer("a"), "one prefers a instead of b: it moves from new_00000001 to old_00000001"},
		{"new", "b", record.Prefer("b"), "one prefers b instead of b: it stays with new_00000001"},
		{"new", "b", record.Prefer("c"), "one prefers c instead of b: no such member is ready, so it stays with new_00000001"},
		{"new", "b", pinned("b", "old"), "one prefers b (pinned to old) instead of b: it moves from new_00000001 to old_00000001"},
		{"old", "a", pinned("b", "old"), "one prefers b (pinned to old) instead of b: it stays with old_00000001"},
		{"new", "b", pinned("a", "ghost"), "one prefers a (pinned to ghost) instead of b: no such member is ready, so it moves from new_00000001 to old_00000001"},
		{"old", "a", pinned("a", "ghost"), "one prefers a (pinned to ghost) instead of b: no such member is ready, so it stays with old_00000001"},
		{"ghost", "b", pinned("a", "ghost"), "one prefers a (pinned to ghost) instead of b: no such member is ready, so it stays with ghost_00000001"},
		{"new", "b", pinned("", "ghost"), "one prefers (unset) (pinned to ghost) instead of b: no such member is ready, so it stays with new_00000001"},
		{"new", "b", record.Preferred{State: record.PreferredSet, Revision: "b", Blocked: "a"}, "one prefers b (not a) instead of b: it stays with new_00000001"},
	} {
		r := twoRevisions(tt.holder, tt.revision)
		if got := moved(r, r.Elections[0], record.Prefer("b"), tt.is, rulebook{}.rules("one")).text(); got != tt.want {
			t.Errorf("%s", got)
		}
	}
}

// TestFreeLockWaitsForNoDelay checks that a lock that nobody holds is taken at once: preemptDelay is for holders.
func TestFreeLockWaitsForNoDelay(t *testing.T) {
	r := twoRevisions("old", "a")
	r.At = time.Date(2026, 11, 26, 3, 41, 14, 0, time.UTC)
	x := rulebook{}.rules("one")
	x.timing.PreemptDelay = 10 * time.Second
	if got := moved(r, r.Elections[0], record.Prefer("a"), record.Prefer("b"), x); got.NotBefore.IsZero() {
		t.Errorf("the holder does not wait: %s", got.text())
	}
	r.Elections[0].Holder, r.Elections[0].Revision = "", ""
	const want = "one prefers b instead of a: it moves from nobody to new_00000001"
	if got := moved(r, r.Elections[0], record.Prefer("a"), record.Prefer("b"), x).text(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestEndOfAHolder checks that a lock whose holder's session has ended counts as free, although the lock still names the holder.
func TestEndOfAHolder(t *testing.T) {
	r := twoRevisions("gone", "a")
	r.Elections[0].State = status.Released
	x := rulebook{}.rules("one")
	x.timing.PreemptDelay = 10 * time.Second
	withheld := record.Prefer("a")
	withheld.Paused, withheld.NoTakeover = true, true
	for want, was := range map[string][2]record.Preferred{
		"one prefers a instead of a (paused, no takeover): it moves from nobody to old_00000001":                            {withheld, record.Prefer("a")},
		"one prefers a (paused, no takeover) instead of a: it stays without a leader":                                       {record.Prefer("a"), withheld},
		"one prefers c instead of a: no such member is ready, so it moves from nobody to one of old_00000001, new_00000001": {record.Prefer("a"), record.Prefer("c")},
	} {
		if got := moved(r, r.Elections[0], was[0], was[1], x).text(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestNobodyTakesIt checks that an election without a leader moves to nobody while the group is paused without takeovers.
func TestNobodyTakesIt(t *testing.T) {
	r := twoRevisions("old", "a")
	r.Elections[0].Holder, r.Elections[0].Revision = "", ""
	withheld := record.Prefer("b")
	withheld.Paused, withheld.NoTakeover = true, true
	for want, is := range map[string]record.Preferred{
		"one prefers b instead of b: it moves from nobody to new_00000001":            record.Prefer("b"),
		"one prefers b (paused, no takeover) instead of b: it stays without a leader": withheld,
	} {
		if got := moved(r, r.Elections[0], record.Prefer("b"), is, rulebook{}.rules("one")).text(); got != want {
			t.Errorf("%s", got)
		}
	}
}

// TestStartMovesAtOnce checks that, as soon as a rollout is stored, all elections prefer its stable revision.
func TestStartMovesAtOnce(t *testing.T) {
	r, next := twoRevisions("old", "a"), planAt("", 0)
	next.Status, next.Rollout.Stable, next.Rollout.Canary = nil, "b", "a"
	atOnce := changes(r, "edge", preference{byDefault: record.Prefer("a")}, preference{next, record.Prefer("a")}, rulebook{})
	if len(atOnce) != 1 || atOnce[0].Stays || atOnce[0].Holder != "old_00000001" {
		t.Fatalf("%+v", atOnce)
	}
	seen := afterwards(rollout.Seen{Elections: []rollout.Election{{Name: "one", Holder: "old_00000001", Revision: "a"}}}, atOnce, "b")
	if e := seen.Elections[0]; e.Revision != "b" || e.Holder != "new_00000001" {
		t.Errorf("afterwards %+v", e)
	}
	a := analysis{Stable: "b", Canary: "a", AtOnce: atOnce}
	if got, want := a.question(1), "at once 1 of 1 elections prefer b instead, and leadership of 1 moves; then 0 of 1 elections will move from b to a"; got != want {
		t.Errorf("%s", got)
	}
}

// TestQuestion checks that a command asks because of a warning even if it sees nothing that will move.
func TestQuestion(t *testing.T) {
	f := effect{What: "pin tick to revision a", Elections: []movement{{Election: "one", Stays: true}}}
	if got := f.question(); got != "" {
		t.Errorf("nothing moves: %q", got)
	}
	f.Warnings = []string{"no election tick", "and more"}
	if got, want := f.question(), "pin tick to revision a, in spite of: no election tick; and more"; got != want {
		t.Errorf("a warning: %q", got)
	}
	f.Elections[0].Stays = false
	if got, want := f.question(), "pin tick to revision a: leadership of one will move"; got != want {
		t.Errorf("a move: %q", got)
	}
}

// TestWarningsOfWhatIsNotSeen checks the warnings if a report lacks elections of the configuration.
func TestWarningsOfWhatIsNotSeen(t *testing.T) {
	s := steerCommand{report: twoRevisions("old", "a")}
	s.group, s.namespace = "edge", "x"
	s.selection.Expected = []status.Expected{{Election: "legacy", Lock: "legacy", Kind: status.ConfigMap}}
	for election, want := range map[string]string{
		"one": "", "legacy": "who leads legacy is not seen: leadership may move",
		"onne": "no election onne of group edge is seen in namespace x; did you mean one?",
	} {
		if got := strings.Join(s.warnings(election), "|"); got != want {
			t.Errorf("%s: %q", election, got)
		}
	}
}

// TestWarningsOfAGroupWithoutMembers checks that words that the command stores for later warn if no member of the group lives:
// --group may have a mistake.
func TestWarningsOfAGroupWithoutMembers(t *testing.T) {
	dead := twoRevisions("old", "a")
	for i := range dead.Members {
		dead.Members[i].State = status.Ended
	}
	const warning = "warning: no member of group %s lives in namespace x, so nobody obeys before one starts (check --group and --namespace)\n"
	words := map[string]func(*steerCommand) error{
		"pause": func(s *steerCommand) error {
			return s.pause(t.Context(), "pause", rollout.Standstill{At: rollout.At(time.Now())})
		},
		"drain": func(s *steerCommand) error { return s.drain(t.Context(), rollout.Drain{Member: "old"}, 0) },
		"pin": func(s *steerCommand) error {
			return s.replan(t.Context(), "on", "pin", func(p rollout.Plan) (rollout.Plan, error) { return p.PinTo(rollout.Pin{Election: "on", Revision: "a"}) })
		},
	}
	for word, say := range words {
		for _, c := range []struct {
			group string
			seen  status.Report
			warns bool
		}{{"edge", twoRevisions("old", "a"), false}, {"edg", twoRevisions("old", "a"), true}, {"edge", dead, true}} {
			var out strings.Builder
			dry, text := dryRun(true), outputText
			s := &steerCommand{report: c.seen, ways: &steerWays{dry: &dry, output: &text}}
			s.group, s.namespace, s.out = c.group, "x", &out
			if err := say(s); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out.String(), fmt.Sprintf(warning, c.group)) != c.warns {
				t.Errorf("%s of group %s: %s", word, c.group, out.String())
			}
		}
	}
}

// TestManyThatStayAreCounted checks that the text lists every election that moves, and counts those that stay if they are
// many.
func TestManyThatStayAreCounted(t *testing.T) {
	f := effect{What: "pause the group", DryRun: true, Elections: []movement{{Election: "moves", Candidates: []string{"b_00000001"}}}}
	for range mostStaying {
		f.Elections = append(f.Elections, movement{Election: "stays", Stays: true})
	}
	if got := f.text(); strings.Count(got, "stays prefers") != mostStaying || strings.Contains(got, "-o json") {
		t.Errorf("few stay:\n%s", got)
	}
	f.Elections = append(f.Elections, movement{Election: "stays", Stays: true})
	if got := f.text(); strings.Contains(got, "stays prefers") || !strings.Contains(got, "moves prefers") ||
		!strings.Contains(got, "\n6 elections stay with their holders (-o json lists them)\n") {
		t.Errorf("many stay:\n%s", got)
	}
}

// TestHandoverToADeadHolder checks that nobody is told that a handover is done because a holder has it that does not live.
func TestHandoverToADeadHolder(t *testing.T) {
	dry, text := dryRun(false), outputText
	s := &steerCommand{groupCommand: groupCommand{group: "edge", core: mapstest.New()}, ways: &steerWays{yes, &dry, &text}, report: twoRevisions("old", "a")}
	s.report.Elections[0].Stale, s.report.Members[0].State = true, status.Stale
	var out bytes.Buffer
	s.out, s.notes = &out, &out
	s.take(steering.Stored{})
	if err := s.handover(t.Context(), "one", "old", time.Second); err == nil || !strings.Contains(err.Error(), "no member old of group edge lives") {
		t.Errorf("got %v: %s", err, &out)
	}
}
