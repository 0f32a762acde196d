package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/primacy-dev/primacy/pkg/election/status"
)

// TestLiveStatus checks that the screen of `primacy status -w` shows the report, and what happened since
// the screen opened.
func TestLiveStatus(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local)
	live := liveStatus("edge-system")
	led := func(holder string, token uint64) status.Report {
		return status.Report{At: at, Elections: []status.Election{{
			Name: "one", Group: "edge", Lock: "one", State: status.Led, Holder: holder, Revision: "1-9-0", Token: token, Acquired: at.Add(-time.Minute),
		}}}
	}
	live.take(led("a_00000001", 7), nil, at)
	live.take(status.Report{}, errors.New("no \x1b[2J network"), at)
	live.take(led("b_00000002", 8), nil, at.Add(time.Second))
	got := ansi.Strip(live.draw().Draw(100, 12))
	for _, want := range []string{
		"primacy status   12:00:00   namespace edge-system   1 of 1 elections led\n",
		"\none       b_00000002  1-9-0     -         led    8      60s\n",
		"\n12:00:00 the watch was cut, and is taken up again: no \\x1b[2J network\n12:00:01 one: a -> b leads, revision 1-9-0, token 8\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
	ended := 0
	for _, key := range []string{"q", "x", "ctrl+c"} {
		endingKeys(func() { ended++ })(key)
	}
	if ended != 2 {
		t.Errorf("%d keys end it", ended)
	}
}

// TestAppendedNotes checks that notes are written again only when they change. The note about disabled
// elections is never written again.
func TestAppendedNotes(t *testing.T) {
	var notes, out strings.Builder
	s := &statusCommand{out: &out, notes: &notes, format: status.Table, disabled: []string{"sweeps"}}
	show := s.appendChanges()
	for _, n := range [][]string{nil, {"a"}, {"a"}, nil, {"b"}} {
		if err := show(status.Report{Notes: n}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := notes.String(), "note: a\nnote: b\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	notes.Reset()
	if err := s.noteDisabled(); err != nil || notes.String() != "not shown, since they are disabled and every member works for them: sweeps\n" {
		t.Errorf("%q, %v", notes.String(), err)
	}
}

// TestAppendedLines checks that each appended line has its time, and that members that come or go have
// lines of their own.
func TestAppendedLines(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local)
	var out strings.Builder
	s := &statusCommand{out: &out, notes: &out, format: status.Table}
	show := s.appendChanges()
	member := func(identity string, state status.MemberState) status.Member {
		return status.Member{Identity: identity, Session: "primacy-edge-" + identity, Revision: "1-9-0", Location: "local", Ready: true, State: state}
	}
	led := status.Election{Name: "one", Group: "edge", Lock: "one", State: status.Led, Holder: "a_00000001", Revision: "1-9-0", Token: 7, Acquired: at.Add(-time.Minute)}
	released := led
	released.State, released.Holder, released.Revision, released.Acquired = status.Released, "", "", at.Add(3*time.Second)
	a, b := member("a_00000001", status.Live), member("b_00000002", status.Live)
	beats := a
	beats.Renewed = at.Add(time.Second)
	for i, r := range []status.Report{
		{Elections: []status.Election{led}, Members: []status.Member{a}},
		{Elections: []status.Election{led}, Members: []status.Member{beats}},
		{Elections: []status.Election{led}, Members: []status.Member{a, b}},
		{Elections: []status.Election{released}, Members: []status.Member{member("a_00000001", status.Ended), b}},
		{Elections: []status.Election{released}}, // its session was deleted
	} {
		r.At = at.Add(time.Duration(i) * time.Second).UTC()
		if err := show(r); err != nil {
			t.Fatal(err)
		}
	}
	const want = `TIME      ELECTION  HOLDER      REVISION  LOCATION  STATE  TOKEN  AGE  NOTE
12:00:00  one       a_00000001  1-9-0     -         led    7      60s
12:00:02  member b joined: revision 1-9-0, local
12:00:03  one       -           -         -         released  7      0s
12:00:03  member a left
12:00:04  member b left
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// TestTroubleIsSaidOnce checks that a failure that repeats itself is one line.
func TestTroubleIsSaidOnce(t *testing.T) {
	var notes strings.Builder
	refused, gone := errors.New("refused"), errors.New("gone")
	err := inTurn(t.Context(), &notes, func(_ context.Context, deliver func(int, error)) error {
		for _, trouble := range []error{refused, gone, refused, refused, gone} {
			deliver(0, trouble)
		}
		return nil
	}, func(int) error { return nil })
	if want := watchCut(refused) + "\n" + watchCut(gone) + "\n"; err != nil || notes.String() != want {
		t.Errorf("%v\n%s", err, notes.String())
	}
}

// TestOldPicture checks that both forms of `status -w` say when the API cannot be reached, how old the picture
// is, and when that is over.
func TestOldPicture(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local)
	led := []status.Election{{Name: "one", Group: "edge", Lock: "one", State: status.Led, Holder: "a_00000001", Acquired: at}}
	now := status.Report{At: at, Elections: led}
	old := status.Report{At: at.Add(14 * time.Second), AsOf: at.Add(2 * time.Second), Elections: led}
	older := status.Report{At: at.Add(15 * time.Second), AsOf: at.Add(2 * time.Second), Elections: led}
	again := status.Report{At: at.Add(20 * time.Second), Elections: led}

	live := liveStatus("edge-system")
	const want = "the API server cannot be reached; what is shown is as of 12:00:02, 12s ago"
	for _, tt := range []struct {
		report status.Report
		has    bool
	}{{now, false}, {old, true}, {again, false}} {
		live.take(tt.report, nil, tt.report.At)
		if page := ansi.Strip(live.draw().Draw(100, 12)); strings.Contains(page, want) != tt.has {
			t.Errorf("at %v:\n%s", tt.report.At, page)
		}
	}

	var notes, out strings.Builder
	show := (&statusCommand{out: &out, notes: &notes, format: status.Table}).appendChanges()
	for _, r := range []status.Report{now, old, older, again, again} {
		if err := show(r); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := notes.String(), "the API server cannot be reached; what is shown is as of 12:00:02\nthe API server answers again, after 18s\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
