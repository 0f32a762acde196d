package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

// somePast is an election with transitions of each kind, and the ends of those who held it.
func somePast() (status.Election, status.Report) {
	e := status.Election{Name: "dns", Group: "edge", Kind: status.Lease, Lock: "dns", Holder: "d_4", History: []status.Transition{
		{At: minute(0), Who: "a_1", Why: "took over: unowned"},
		{At: minute(10), Who: "a_1", Why: "released: member is leaving"},
		{At: minute(10), Who: "b_2", Why: "took over: free"},
		{At: minute(20).Add(7 * time.Second), Who: "c_3", Why: "took over: orphaned"},
		{At: minute(30), Who: "d_4", Why: "took over: orphaned"},
		{At: minute(31), Who: "d_4", Why: "word of a later version"},
	}}
	ended := func(identity string, at time.Time, by, why string) status.Member {
		return status.Member{Identity: identity, Group: "edge", State: status.Ended, End: &status.Transition{At: at, Who: by, Why: why}}
	}
	r := status.Report{Elections: []status.Election{e}, Members: []status.Member{
		ended("a_1", minute(10), "a_1", "left"), ended("b_2", minute(20), "parent", "ended: its member died"),
		ended("c_3", minute(29), "d_4", "expired"), ended("x_9", minute(5), "x_9", "left"),
		{Identity: "d_4", Group: "edge", State: status.Live},
	}, Deaths: []status.Death{{Identity: "b_2", Group: "edge", Proof: record.ProofParent, By: "parent of b_2", How: "killed by SIGKILL", At: minute(20).Add(time.Second / 2)}}}
	return e, r
}

// TestPastOfAnElection checks the order and the words of all that is stored.
func TestPastOfAnElection(t *testing.T) {
	e, r := somePast()
	plan := rollout.Plan{
		Pins:    []rollout.Pin{{Election: "dns", Member: "d", By: "ann", At: rollout.At(minute(32))}, {Election: "other", Revision: "r", At: rollout.At(minute(33))}},
		History: []rollout.Ended{{Stable: "1", Canary: "2", Started: rollout.At(minute(-50)), Ended: rollout.At(minute(5)), By: "bob", How: rollout.Complete}},
	}
	var got strings.Builder
	for _, p := range pastOf(e, r, plan) {
		fmt.Fprintln(&got, strings.Join(p.cells()[1:], " | "))
	}
	want := `Took | dns | a_1 | no owner of the lock was known: it was new, or members had waited that out
RolloutEnded | - | - | 1 -> 2: Complete
Released | dns | a_1 | member is leaving
Took | dns | b_2 | nobody held the lock
Left | - | a_1 | 
Died | - | b_2 | killed by SIGKILL (proof: parent, by parent of b_2)
Took | dns | c_3 | the last holder's session had ended; nobody led for about 6s
Lapsed | - | c_3 | its session was not renewed in time; d_4 ended it
Took | dns | d_4 | the last holder's session had ended
Changed | dns | d_4 | word of a later version
Pinned | dns | ann | to member d
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &got, want)
	}
}

// TestOnlyWhatIsNew checks that each transition is shown once, that members that left are, and that gaps are noticed.
func TestOnlyWhatIsNew(t *testing.T) {
	e, r := somePast()
	var seen pastSeen
	shown := func() (all []string) {
		for _, p := range seen.since(status.Selection{}, r) {
			all = append(all, string(p.Event)+" "+p.Who)
		}
		return all
	}
	if first := shown(); len(first) != len(e.History)+4 {
		t.Errorf("at first %q", first)
	}
	if again := shown(); len(again) != 0 {
		t.Errorf("again %q", again)
	}
	add := func(n int, from time.Time) {
		for i := range n {
			e.History = append(e.History, status.Transition{At: from.Add(time.Duration(i) * time.Second), Who: "e_5", Why: "took over: mine"})
		}
		e.History = e.History[max(0, len(e.History)-record.HistoryLength):]
		r.Elections = []status.Election{e}
	}
	add(3, minute(40)) // the oldest line is gone
	if news := shown(); !slices.Equal(news, []string{"Took e_5", "Took e_5", "Took e_5"}) || seen.missed != nil {
		t.Errorf("%q, missed %v", news, seen.missed)
	}
	r.Members = append(r.Members, status.Member{Identity: "e_5", State: status.Ended, End: &status.Transition{At: minute(50), Who: "e_5"}})
	add(12, minute(60))
	if news := shown(); len(news) != 1+record.HistoryLength || news[0] != "Left e_5" || !slices.Equal(seen.missed, []string{"dns"}) {
		t.Errorf("%q, missed %v", news, seen.missed)
	}
	if news := shown(); len(news) != 0 || seen.missed != nil {
		t.Errorf("%q, missed %v", news, seen.missed)
	}
	r.Elections = nil // somebody deletes the lock, and it is made anew
	shown()
	e.History = nil
	add(1, minute(80))
	if news := shown(); !slices.Equal(news, []string{"Took e_5"}) || seen.missed != nil {
		t.Errorf("%q, missed %v", news, seen.missed)
	}
}

// TestEventsOneByOne checks what scripts read.
func TestEventsOneByOne(t *testing.T) {
	e, r := somePast()
	var out, notes bytes.Buffer
	s := &statusCommand{out: &out, notes: &notes, selection: status.Selection{Elections: []string{"dns"}}}
	show := s.appendPast(outputJSON)
	if err := show(r); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var last pastEvent
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || len(lines) != len(e.History) || last.Event != eventOther || last.Election != "dns" {
		t.Errorf("%v\n%s", err, &out)
	}
	s.selection.Elections = []string{"dnss"}
	if err := s.appendPast(outputText)(r); err == nil || !strings.Contains(err.Error(), "there is no election dnss") {
		t.Errorf("an election that does not exist: %v", err)
	}
}

// TestCausesComeFirst checks that the end of a holder is listed before the takeover of the same second, and after the
// holder's own one.
func TestCausesComeFirst(t *testing.T) {
	var got []string
	for _, h := range inOrder([]pastEvent{
		{At: noon, Event: eventTook, Who: "a"}, {At: noon, Event: eventTook, Who: "b"}, {At: noon, Event: eventTook, Who: "c"},
		{At: noon, Event: eventDied, Who: "a"}, {At: noon, Event: eventPinned, Who: "ann"},
	}) {
		got = append(got, string(h.Event)+" "+h.Who)
	}
	if want := []string{"Took a", "Died a", "Took b", "Took c", "Pinned ann"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
