package status_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// TestOneRowForEachElection checks that an election with two locks has one row, which mentions both; its
// holder leads it once.
func TestOneRowForEachElection(t *testing.T) {
	old := func(name string, e lock.Entry) lock.Entry { e.Name = name; return e }
	free := func(e lock.Entry) lock.Entry {
		return changed(e, func(r *record.Record) { r.Holder, r.Mark.Identity = "", "" })
	}
	asked := func(e lock.Entry, to string) lock.Entry {
		return changed(e, func(r *record.Record) { r.HandoverTo = to })
	}
	by := func(holder string, token record.Token) lock.Entry {
		return held("moving", holder, "1-9-0", token, time.Second)
	}
	fromMap := []status.Expected{{Election: "moving", Lock: "moving", MigrateFrom: status.Ref{Kind: status.ConfigMap, Name: "moving"}}}
	toMap := []status.Expected{{Election: "moving", Lock: "moving", Kind: status.ConfigMap, MigrateFrom: status.Ref{Kind: status.Lease, Name: "moving"}}}
	fromLease := []status.Expected{{Election: "moving", Lock: "moving", MigrateFrom: status.Ref{Kind: status.Lease, Name: "old"}}}
	for _, tt := range []struct {
		what         string
		expected     []status.Expected
		leases, maps []lock.Entry
		want         string
		leads        int
	}{
		{"no lock yet", fromMap, nil, nil, "moving - absent Lease: no member has created it yet", 0},
		{"a holder of both", nil, []lock.Entry{by(alice, 2)}, []lock.Entry{by(alice, 1)}, "moving alice_00000001 led Lease: migrates: holds ConfigMap moving as well", 1},
		{"a holder of both, configured", fromMap, []lock.Entry{by(alice, 2)}, []lock.Entry{by(alice, 1)}, "moving alice_00000001 led Lease: migrates: holds ConfigMap moving as well", 1},
		{"the other way", toMap, []lock.Entry{by(alice, 2)}, []lock.Entry{by(alice, 1)}, "moving alice_00000001 led ConfigMap: migrates: holds Lease moving as well", 1},
		{"from a Lease", fromLease, []lock.Entry{old("old", by(alice, 1)), by(alice, 2)}, nil, "moving alice_00000001 led Lease: migrates: holds Lease old as well", 1},
		{"from a Lease, not configured", nil, []lock.Entry{old("old", by(alice, 1)), by(alice, 2)}, nil, "moving alice_00000001 led Lease: migrates: holds Lease old as well", 1},
		{"a member that knows the old one", fromMap, nil, []lock.Entry{by(alice, 1)}, "moving alice_00000001 led ConfigMap: ", 1},
		{"the new one is free", fromMap, []lock.Entry{free(by(alice, 2))}, []lock.Entry{by(alice, 1)}, "moving alice_00000001 led ConfigMap: migrates: Lease moving is released", 1},
		{"two holders", fromMap, []lock.Entry{by(alice, 2)}, []lock.Entry{by(bob, 1)}, "moving alice_00000001 led Lease: ConfigMap moving, its other lock, is held by bob_00000002", 1},
		{"moved", nil, []lock.Entry{by(alice, 2)}, []lock.Entry{{Name: "moving", Record: &record.Record{Group: "edge", Election: "moving"}}}, "moving alice_00000001 led Lease: ConfigMap moving, its other lock, is waiting", 1},
		{"a ConfigMap alone", nil, nil, []lock.Entry{by(alice, 1)}, "moving alice_00000001 led ConfigMap: ", 1},
		{"asked to hand over", nil, []lock.Entry{asked(by(alice, 2), bob)}, nil, "moving alice_00000001 led Lease: asked to hand over to bob_00000002", 1},
		{"asked to hand over both", nil, []lock.Entry{asked(by(alice, 2), bob)}, []lock.Entry{asked(by(alice, 1), bob)}, "moving alice_00000001 led Lease: asked to hand over to bob_00000002; migrates: holds ConfigMap moving as well", 1},
		{"asked to keep it", nil, []lock.Entry{asked(by(alice, 2), alice)}, nil, "moving alice_00000001 led Lease: ", 1},
		{"a request in a lock that cannot be believed", nil, []lock.Entry{changed(asked(by(alice, 2), bob), func(r *record.Record) { r.Mark.Transitions++ })}, nil, "moving alice_00000001 unowned Lease: its mark belongs to another holder or term", 0},
		{"a ConfigMap that is named as a session", nil, nil, []lock.Entry{old("primacy-edge-x-0", by(alice, 1))}, "moving alice_00000001 led ConfigMap: ", 1},
	} {
		r := status.Seen{Leases: append(tt.leases, session("alice", alice, "1-9-0", time.Second)), ConfigMaps: tt.maps}.Report(status.Selection{Group: "edge", Expected: tt.expected}, now)
		var rows []string
		for _, e := range r.Elections {
			holder := e.Holder
			if holder == "" {
				holder = "-"
			}
			cells, _ := status.Report{At: now, Elections: []status.Election{e}}.Rows()
			rows = append(rows, strings.Join([]string{e.Name, holder, string(e.State), string(e.Kind)}, " ")+": "+cells[1][len(cells[1])-1])
		}
		if got := strings.Join(rows, "\n"); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.what, got, tt.want)
		}
		if leads := r.Members[0].Leads; leads != tt.leads {
			t.Errorf("%s: alice leads %d", tt.what, leads)
		}
	}
}

// TestWhatEndsWithItsSession checks that the end of a session frees each lock that it renews, whatever other locks the election had,
// unless the holder has another of them, too.
func TestWhatEndsWithItsSession(t *testing.T) {
	bySession := changed(held("moved", alice, "1-9-0", 2, time.Hour), func(r *record.Record) {
		r.Duration, r.Mark.Renewal, r.Mark.Session = 365*24*time.Hour, record.RenewalSession, "primacy-edge-alice-0"
	})
	for _, tt := range []struct {
		what  string
		lease lock.Entry
		maps  []lock.Entry
		want  bool
	}{
		{"one lock", bySession, nil, true},
		{"renewed by its record", held("moved", alice, "1-9-0", 2, time.Second), nil, false},
		{"a lock that is left of a migration", bySession, []lock.Entry{changed(held("moved", bob, "1-9-0", 1, time.Hour), func(r *record.Record) { r.Holder, r.Mark.Identity = "", "" })}, true},
		{"another one has the old lock", bySession, []lock.Entry{held("moved", bob, "1-9-0", 1, time.Second)}, true},
		{"its holder has the old lock, too", bySession, []lock.Entry{held("moved", alice, "1-9-0", 1, time.Second)}, false},
	} {
		r := status.Seen{Leases: []lock.Entry{tt.lease, session("alice", alice, "1-9-0", time.Second)}, ConfigMaps: tt.maps}.Report(status.Selection{Group: "edge"}, now)
		if e := r.Elections[0]; len(r.Elections) != 1 || e.Kind != status.Lease || e.EndsWithSession() != tt.want || e.Lasts() != 15*time.Second {
			t.Errorf("%s: %+v", tt.what, r.Elections)
		}
	}
}

// mapStream is a store of ConfigMaps whose events the test scripts, for all of them and by name.
type mapStream struct {
	stream
	named stream
	names []string
}

func (m *mapStream) WatchNames(ctx context.Context, names []string, deliver func(lock.Event)) error {
	m.names = names
	return m.named.Watch(ctx, deliver)
}

func listed(entries ...lock.Entry) lock.Event { return lock.Event{Kind: lock.Listed, List: entries} }

// TestConfigMapsThatAreNotSeen checks that a user who may not list ConfigMaps sees the rest, and a note;
// any other failure is an error.
func TestConfigMapsThatAreNotSeen(t *testing.T) {
	denied := lock.Event{Kind: lock.Broken, Err: lock.ErrDenied}
	partly := lock.Event{Kind: lock.Listed, Denied: []string{"c"}, Err: lock.ErrDenied}
	lease, labelled := held("a", alice, "1-9-0", 1, time.Second), held("b", alice, "1-9-0", 1, time.Second)
	foreign := lock.Entry{Name: "c", Record: &record.Record{Holder: "somebody", Duration: 15 * time.Second, Renewed: ago(0)}}
	expected := []status.Expected{{Election: "c", Lock: "c", Kind: status.ConfigMap}}
	for _, tt := range []struct {
		what       string
		all, named lock.Event
		expected   []status.Expected
		want, note string
	}{
		{"all", listed(labelled), denied, nil, "a b", ""},
		{"all and named", listed(labelled), listed(foreign), expected, "a b c", ""},
		{"named alone", denied, listed(foreign), expected, "a c", "only if the configuration names them"},
		{"all but the one configured", denied, partly, expected, "a", "you may not list and watch configmaps"},
		{"none, but one configured", denied, denied, expected, "a", "you may not list and watch configmaps"},
		{"none", denied, denied, nil, "a", "you may not list and watch configmaps"},
		{"trouble", lock.Event{Kind: lock.Broken, Err: lock.ErrUnknown}, denied, nil, "outcome unknown", ""},
	} {
		realm := status.Realm{Leases: script(listed(lease)), ConfigMaps: &mapStream{stream: script(tt.all), named: script(tt.named)}}
		r, err := status.Look(t.Context(), realm, status.Selection{Group: "edge", Expected: tt.expected})
		var names []string
		for _, e := range r.Elections {
			names = append(names, e.Name)
		}
		if errors.Is(err, lock.ErrUnknown) {
			names = []string{err.Error()}
		} else if err != nil {
			t.Errorf("%s: %v", tt.what, err)
		}
		if got, notes := strings.Join(names, " "), strings.Join(r.Notes, "\n"); got != tt.want || !strings.Contains(notes, tt.note) || (notes == "") != (tt.note == "") {
			t.Errorf("%s: %q, notes %q", tt.what, got, notes)
		}
	}
}
