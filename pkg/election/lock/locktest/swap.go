package locktest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func testCreate(t *testing.T, r Realm) {
	s := r.Store()
	if e := mustGet(t, s, name); !e.Absent() || !e.Version.IsZero() {
		t.Fatalf("in an empty realm: %+v", e)
	}
	v := mustPut(t, s, name, held(1), record.Version{})
	e := mustGet(t, r.Store(), name)
	says(t, e, held(1), v)
	_, err := s.Put(within(t), name, held(2), record.Version{})
	rejected(t, s, e, err, lock.ErrExists)
}

// testCreateEmpty checks that a create without a holder says nothing of a term.
func testCreateEmpty(t *testing.T, r Realm) {
	s := r.Store()
	mustPut(t, s, name, record.Record{Group: "edge", Election: name}, record.Version{})
	e := mustGet(t, s, name)
	if !e.Record.Untouched() || e.Record.Released() || e.Record.Duration != 0 {
		t.Errorf("an empty create says %+v", e.Record)
	}
	v := mustPut(t, s, name, held(1), e.Version)
	says(t, mustGet(t, s, name), held(1), v)
}

// testCreateWithAbsence checks that the version of an absence allows a create, even if it has a revision.
func testCreateWithAbsence(t *testing.T, r Realm) {
	s := r.Store()
	old := mustPut(t, s, name, held(1), record.Version{})
	w := watch(t, s)
	w.await("the list", func(e lock.Event) bool { return e.Kind == lock.Resumed })
	mustDelete(t, r, name)
	gone := w.change(name)
	if !gone.Absent() || gone.Version.UID != "" || gone.Version.Revision <= old.Revision {
		t.Fatalf("a deletion after %v is shown as %+v", old, gone)
	}
	v := mustPut(t, s, name, held(2), gone.Version)
	says(t, mustGet(t, s, name), held(2), v)
	_, err := s.Put(within(t), name, held(3), gone.Version)
	rejected(t, s, mustGet(t, s, name), err, lock.ErrExists)
}

func testUpdate(t *testing.T, r Realm) {
	s := r.Store()
	v1 := mustPut(t, s, name, held(1), record.Version{})
	v2 := mustPut(t, s, name, held(2), v1)
	if v2.UID != v1.UID || v2.Revision <= v1.Revision {
		t.Errorf("an update went from %v to %v", v1, v2)
	}
	says(t, mustGet(t, r.Store(), name), held(2), v2)
}

func testUpdateStale(t *testing.T, r Realm) {
	s := r.Store()
	v1 := mustPut(t, s, name, held(1), record.Version{})
	v2 := mustPut(t, s, name, held(2), v1)
	before := mustGet(t, s, name)
	_, err := s.Put(within(t), name, held(3), v1)
	rejected(t, s, before, err, lock.ErrConflict)
	_, err = s.Put(within(t), name, held(3), record.Version{UID: v2.UID, Revision: v2.Revision + 1})
	rejected(t, s, before, err, lock.ErrConflict)
}

func testUpdateWrongUID(t *testing.T, r Realm) {
	s := r.Store()
	v := mustPut(t, s, name, held(1), record.Version{})
	before := mustGet(t, s, name)
	_, err := s.Put(within(t), name, held(2), record.Version{UID: "another", Revision: v.Revision})
	rejected(t, s, before, err, lock.ErrConflict)
}

// testUpdateDeleted checks that an update never brings a deleted object back.
func testUpdateDeleted(t *testing.T, r Realm) {
	s := r.Store()
	v := mustPut(t, s, name, held(1), record.Version{})
	mustDelete(t, r, name)
	gone := mustGet(t, s, name)
	if !gone.Absent() {
		t.Fatal("a deleted object is there")
	}
	_, err := s.Put(within(t), name, held(2), v)
	rejected(t, s, gone, err, lock.ErrVanished)
}

func testUpdateRecreated(t *testing.T, r Realm) {
	s := r.Store()
	v1 := mustPut(t, s, name, held(1), record.Version{})
	mustDelete(t, r, name)
	v2 := mustPut(t, s, name, held(1), record.Version{})
	if v2.UID == v1.UID || v2.Revision <= v1.Revision {
		t.Errorf("recreated: %v after %v", v2, v1)
	}
	before := mustGet(t, s, name)
	for _, stale := range []record.Version{v1, {UID: v1.UID, Revision: v2.Revision}, {UID: v2.UID, Revision: v1.Revision}} {
		_, err := s.Put(within(t), name, held(2), stale)
		rejected(t, s, before, err, lock.ErrConflict)
	}
}

// testUpdateIdentical checks that a write that changes nothing keeps the version, so it cannot pass for a
// renewal.
func testUpdateIdentical(t *testing.T, r Realm) {
	s := r.Store()
	v := mustPut(t, s, name, held(1), record.Version{})
	e := mustGet(t, s, name)
	if again := mustPut(t, s, name, *e.Record, e.Version); again != v {
		t.Errorf("an identical write moved %v to %v", v, again)
	}
	says(t, mustGet(t, s, name), held(1), v)
}

func testConcurrentCreates(t *testing.T, r Realm) {
	for round := range 5 {
		race(t, r, fmt.Sprintf("lock-%d", round), record.Version{}, lock.ErrExists)
	}
}

func testConcurrentUpdates(t *testing.T, r Realm) {
	v := mustPut(t, r.Store(), name, held(1), record.Version{})
	for range 10 {
		v = race(t, r, name, v, lock.ErrConflict)
	}
}

// race makes many members write over one version. Exactly one may succeed.
func race(t *testing.T, r Realm, name string, replaces record.Version, lost error) record.Version {
	t.Helper()
	const members = 12
	type result struct {
		beat    uint64
		version record.Version
		err     error
	}
	results := make([]result, members)
	ctx := within(t)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range members {
		s, beat := r.Store(), replaces.Revision*100+uint64(i)+2
		all.Go(func() {
			<-start
			v, err := s.Put(ctx, name, held(beat), replaces)
			results[i] = result{beat, v, err}
		})
	}
	close(start)
	all.Wait()
	var won []result
	for _, res := range results {
		if res.err == nil {
			won = append(won, res)
		} else if outcome := lock.OutcomeOf(res.err); outcome != lock.Rejected {
			t.Errorf("a lost race is %v: %v", outcome, res.err)
		} else {
			is(t, res.err, lost)
		}
	}
	if len(won) != 1 {
		t.Fatalf("%d of %d writers over %v won", len(won), members, replaces)
	}
	says(t, mustGet(t, r.Store(), name), held(won[0].beat), won[0].version)
	return won[0].version
}

// testRevisionsRise checks that revisions belong to the realm, not to the object, so they rise across
// deletion.
func testRevisionsRise(t *testing.T, r Realm) {
	s := r.Store()
	last := uint64(0)
	rises := func(v record.Version) record.Version {
		t.Helper()
		if v.Revision <= last {
			t.Errorf("revision %d after %d", v.Revision, last)
		}
		last = v.Revision
		return v
	}
	a := rises(mustPut(t, s, "a", held(1), record.Version{}))
	b := rises(mustPut(t, s, "b", held(1), record.Version{}))
	a = rises(mustPut(t, s, "a", held(2), a))
	rises(mustPut(t, s, "b", held(2), b))
	mustDelete(t, r, "a")
	a2 := rises(mustPut(t, s, "a", held(3), record.Version{}))
	if a2.UID == a.UID {
		t.Errorf("uid %s came back", a2.UID)
	}
}

// testGiveUp checks that a caller that gives up waiting does not know the outcome.
func testGiveUp(t *testing.T, r Realm) {
	s := r.Store()
	v := mustPut(t, s, name, held(1), record.Version{})
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Hour))
	defer cancel()
	for _, ctx := range []context.Context{gone, late} {
		_, err := s.Put(ctx, name, held(2), v)
		is(t, err, lock.ErrUnknown)
		if lock.OutcomeOf(err) != lock.Unknown {
			t.Errorf("outcome of %v is %v", err, lock.OutcomeOf(err))
		}
		_, err = s.Get(ctx, name)
		is(t, err, lock.ErrUnknown)
	}
	mustPut(t, s, name, held(3), mustGet(t, s, name).Version)
}

// testRefuse checks that the store refuses a record that an object cannot hold, before it writes
// anything.
func testRefuse(t *testing.T, r Realm) {
	s := r.Store()
	v := mustPut(t, s, name, held(1), record.Version{})
	before := mustGet(t, s, name)
	for what, spoil := range map[string]func(*record.Record){
		"half a second":        func(r *record.Record) { r.Duration = 500 * time.Millisecond },
		"one and a half":       func(r *record.Record) { r.Duration = 1500 * time.Millisecond },
		"no duration":          func(r *record.Record) { r.Duration = 0 },
		"negative duration":    func(r *record.Record) { r.Duration = -time.Second },
		"two years":            func(r *record.Record) { r.Duration = 2 * 366 * 24 * time.Hour },
		"mark, half a second":  func(r *record.Record) { r.Mark.Duration = 500 * time.Millisecond },
		"mark, no duration":    func(r *record.Record) { r.Mark.Duration = 0 },
		"long identity":        func(r *record.Record) { r.Holder = strings.Repeat("x", 507) },
		"identity of bad UTF8": func(r *record.Record) { r.Holder = "a\xffb" },
		"long group":           func(r *record.Record) { r.Group = strings.Repeat("g", 64) },
		"bad group":            func(r *record.Record) { r.Group = "two words" },
		"bad election":         func(r *record.Record) { r.Election = "-x" },
		"negative transitions": func(r *record.Record) { r.Transitions = -1 },
		"huge transitions":     func(r *record.Record) { r.Transitions = 1 << 31 },
		"huge token":           func(r *record.Record) { r.Token = 1 << 63 },
		"year 1":               func(r *record.Record) { r.Renewed = time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC) },
		"unknown renewal":      func(r *record.Record) { r.Mark.Renewal = "never" },
		"huge annotations":     func(r *record.Record) { r.Member = hugeMember() },
		"someone else's rest":  func(r *record.Record) { r.Rest = 42 },
	} {
		t.Run(what, func(t *testing.T) {
			bad := held(2)
			spoil(&bad)
			_, err := s.Put(within(t), name, bad, v)
			rejected(t, s, before, err, lock.ErrInvalid)
		})
	}
	for _, bad := range []string{"", "Upper", "two words", "a/b", "..", strings.Repeat("n", 254)} {
		_, err := s.Put(within(t), bad, held(1), record.Version{})
		is(t, err, lock.ErrInvalid)
	}
}

func hugeMember() *record.Member {
	m := *session(1).Member
	for range 5000 {
		m.Standing = append(m.Standing, strings.Repeat("election", 8))
	}
	return &m
}
