package locktest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// patience is how long an expected event may take on a busy machine.
const patience = 30 * time.Second

// name is the object of most tests.
const name = "ingress-status"

// moment is a time that every store can keep.
var moment = time.Date(2026, 11, 20, 8, 58, 30, 0, time.UTC)

// held returns a lock with every field set, written with the beat. Beats make writes differ.
func held(beat uint64) record.Record {
	return record.Record{
		Holder:      "edge-0_0a1b2c3d",
		Duration:    15 * time.Second,
		Acquired:    moment,
		Renewed:     moment.Add(time.Duration(beat) * time.Second), // #nosec G115 -- tests count their beats from 1
		Transitions: 7,
		Mark: &record.Mark{
			Identity: "edge-0_0a1b2c3d", Transitions: 7, Key: "^1-9-0", Weight: 100,
			Session: "primacy-edge-edge-0-0", SessionUID: "9f3c", Beat: beat,
			Duration: 15 * time.Second, Renewal: record.RenewalRecord,
		},
		Token:      41,
		HandoverTo: "edge-1_4e5f6a7b",
		History: []record.Entry{
			{When: moment.Truncate(time.Second), Who: "edge-1_4e5f6a7b", Why: "handed over"},
			{When: moment.Truncate(time.Second), Who: "edge-0_0a1b2c3d", Why: "took a <released> lock & led"},
		},
		Group:    "edge",
		Election: name,
	}
}

// session returns a member's session with every field set.
func session(beat uint64) record.Record {
	r := held(beat)
	r.HandoverTo, r.History, r.Token, r.Election = "", nil, 0, ""
	r.Mark.Renewal, r.Mark.Session, r.Mark.SessionUID = record.RenewalSession, "", ""
	r.Member = &record.Member{
		Identity: "edge-0_0a1b2c3d", Revision: "1-9-0", Location: record.Remote, Weight: 100, Ready: true,
		Preference: "p1", Config: "c1", Fallen: 2, Standing: []string{"billing", "ingress-status"},
		Lacks: []record.Lack{{Election: "billing", Why: "runner writer: <no> database & no key"}},
		Lags:  "configuration refused: <no> & more",
	}
	return r
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func mustGet(t *testing.T, s lock.Store, name string) lock.Entry {
	t.Helper()
	e, err := s.Get(within(t), name)
	if err != nil {
		t.Fatalf("get %s: %v", name, err)
	}
	if e.Name != name {
		t.Fatalf("get %s: shows %q", name, e.Name)
	}
	return e
}

func mustPut(t *testing.T, s lock.Store, name string, r record.Record, replaces record.Version) record.Version {
	t.Helper()
	v, err := s.Put(within(t), name, r, replaces)
	if err != nil {
		t.Fatalf("put %s over %v: %v", name, replaces, err)
	}
	if v.UID == "" || v.Revision == 0 {
		t.Fatalf("put %s: version %v is incomplete", name, v)
	}
	return v
}

func mustEdit(t *testing.T, r Realm, name string, edit func(*codec.Object)) record.Version {
	t.Helper()
	v, err := r.Edit(name, edit)
	if err != nil {
		t.Fatalf("edit %s: %v", name, err)
	}
	return v
}

func mustDelete(t *testing.T, r Realm, name string) {
	t.Helper()
	if err := r.Delete(name); err != nil {
		t.Fatalf("delete %s: %v", name, err)
	}
}

func mustRaw(t *testing.T, r Realm, name string) codec.Object {
	t.Helper()
	o, err := r.Raw(name)
	if err != nil {
		t.Fatalf("read %s as it is stored: %v", name, err)
	}
	return o
}

// rejected fails unless err is one of the sentinels, and nothing has changed.
func rejected(t *testing.T, s lock.Store, before lock.Entry, err error, sentinels ...error) {
	t.Helper()
	found := false
	for _, sentinel := range sentinels {
		found = found || errors.Is(err, sentinel)
	}
	if !found {
		t.Errorf("got error %v, want one of %v", err, sentinels)
	}
	if lock.OutcomeOf(err) != lock.Rejected {
		t.Errorf("outcome of %v is %v, want rejected", err, lock.OutcomeOf(err))
	}
	if after := mustGet(t, s, before.Name); !reflect.DeepEqual(after, before) {
		t.Errorf("a rejected write changed\n%+v to\n%+v", before, after)
	}
}

// says fails unless the entry shows the record, at the version.
func says(t *testing.T, e lock.Entry, want record.Record, at record.Version) {
	t.Helper()
	if e.Absent() {
		t.Fatalf("%s is absent", e.Name)
	}
	if e.Version != at {
		t.Errorf("%s is at %v, want %v", e.Name, e.Version, at)
	}
	got := *e.Record
	got.Rest, want.Rest = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s says\n%+v, want\n%+v", e.Name, show(got), show(want))
	}
}

// show follows pointers, which %+v does not.
func show(r record.Record) any {
	type all struct {
		record.Record
		Mark   record.Mark
		Member record.Member
		Claim  record.Claim
	}
	a := all{Record: r}
	if r.Mark != nil {
		a.Mark = *r.Mark
	}
	if r.Member != nil {
		a.Member = *r.Member
	}
	if r.Claim != nil {
		a.Claim = *r.Claim
	}
	return a
}
