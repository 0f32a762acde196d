package view

import (
	"slices"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/status"
)

func TestNews(t *testing.T) {
	var n News
	with := func(e status.Election, change func(*status.Election)) status.Election {
		change(&e)
		return e
	}
	one := led("one", old0, "1-9-0", 10, time.Hour)
	absent := status.Election{Name: "two", Group: "edge", Lock: "two", State: status.Absent, Reason: "no member has created it yet"}
	of := func(e ...status.Election) []status.Election { return e }
	both := []status.Member{live(old0, "1-9-0", 1), live(new0, "1-10-0", 0)}
	changed := func(change func(*status.Member)) []status.Member {
		m := slices.Clone(both)
		change(&m[1])
		return m
	}
	for i, step := range []struct {
		elections []status.Election
		members   []status.Member
		want      []string
	}{
		{of(one), both, nil},
		{of(one, absent), both, nil}, // it was expected before, and still is
		{of(with(one, func(e *status.Election) { e.Renewed = now })), both, nil},
		{of(with(one, func(e *status.Election) { e.ForcedTo = new0 })), both, []string{"one: old-0 is asked to hand over to new-0"}},
		{of(with(one, func(e *status.Election) { e.ForcedTo = new0 })), both, nil},
		{of(with(one, func(e *status.Election) { e.Stale = true })), both, []string{"one: old-0 did not renew it in time, as far as one look can tell"}},
		{of(with(one, func(e *status.Election) { e.Stale = true })), both, nil},
		{of(with(one, func(e *status.Election) { e.State, e.Holder, e.HandoverTo = status.Released, "", new0 })), both, []string{"one: released, left to new-0"}},
		{of(led("one", new0, "1-10-0", 20, 0)), both, []string{"one: new-0 leads, revision 1-10-0, token 20"}},
		{of(led("one", old0, "1-9-0", 30, 0)), both, []string{"one: new-0 -> old-0 leads, revision 1-9-0, token 30"}},
		{of(led("one", old0, "1-9-0", 31, 0)), both, []string{"one: old-0 leads, revision 1-9-0, token 31"}},
		{of(with(one, func(e *status.Election) { e.State, e.Reason = status.Corrupt, "no number" })), both, []string{"one: corrupt: no number"}},
		{of(with(one, func(e *status.Election) { e.State, e.Holder = status.Waiting, "" })), both, []string{"one: waiting"}},
		{nil, changed(func(m *status.Member) { m.Ready = false }), []string{"member new-0 is not ready"}},
		{nil, both, []string{"member new-0 is ready"}},
		{nil, changed(func(m *status.Member) { m.State = status.Stale }), []string{"member new-0 is stale"}},
		{nil, changed(func(m *status.Member) { m.State = status.Ended }), []string{"member new-0 left"}},
		{nil, both[:1], nil},
		{nil, both, []string{"member new-0 joined: revision 1-10-0, local"}},
		{nil, nil, []string{"member new-0 left", "member old-0 left"}},
	} {
		if got := n.Since(status.Report{At: now, Elections: step.elections, Members: step.members}); !slices.Equal(got, step.want) {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
}

func TestLog(t *testing.T) {
	var l Log
	l.Add(now)
	if l.Lines() != nil && len(l.Lines()) > 0 {
		t.Errorf("%q", l.Lines())
	}
	for range mostEvents {
		l.Add(now, "one", "two")
	}
	l.Add(now.Add(time.Second), "three")
	if got := l.Lines(); len(got) != mostEvents || got[0] != "12:00:00 two" || got[mostEvents-1] != "12:00:01 three" {
		t.Errorf("%d lines: %q", len(got), got)
	}
}
