package locktest

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func is(t *testing.T, err, sentinel error) {
	t.Helper()
	if !errors.Is(err, sentinel) {
		t.Errorf("got error %v, want %v", err, sentinel)
	}
}

func testLock(t *testing.T, r Realm) {
	s := r.Store()
	v := mustPut(t, s, name, held(1), record.Version{})
	e := mustGet(t, s, name)
	says(t, e, held(1), v)
	if !e.Record.Bound() || e.Record.IsSession() || e.Record.Rest != nil {
		t.Errorf("bound %v, session %v, rest %v", e.Record.Bound(), e.Record.IsSession(), e.Record.Rest)
	}
}

func testRelease(t *testing.T, r Realm) {
	s := r.Store()
	v := mustPut(t, s, name, held(1), record.Version{})
	released := held(1)
	released.Holder, released.Duration = "", time.Second
	released.Mark = &record.Mark{Transitions: 7, Beat: 2}
	v = mustPut(t, s, name, released, v)
	e := mustGet(t, s, name)
	says(t, e, released, v)
	if !e.Record.Released() {
		t.Errorf("a released record is not seen as released: %+v", e.Record)
	}
	o := mustRaw(t, r, name)
	if o.Fields.Holder != "" || o.Fields.DurationSeconds != 1 || o.Fields.Transitions != 7 {
		t.Errorf("a release is stored as %+v", o.Fields)
	}
}

// testClaim checks that a claim stays until it is over, is never free, and never has a foreign holder.
func testClaim(t *testing.T, r Realm) {
	s := r.Store()
	claiming := held(1)
	claiming.HandoverTo = ""
	claiming.Claim = &record.Claim{Identity: "istiod-7b <old>", Transitions: 6, Duration: 30 * time.Second}
	v := mustPut(t, s, name, claiming, record.Version{})
	e := mustGet(t, s, name)
	says(t, e, claiming, v)
	if !e.Record.Bound() {
		t.Error("a claim is not bound")
	}
	renewed := *e.Record
	renewed.Mark = held(2).Mark
	v = mustPut(t, s, name, renewed, e.Version)
	says(t, mustGet(t, s, name), renewed, v)
	mustEdit(t, r, name, func(o *codec.Object) { o.Fields.Holder, o.Fields.DurationSeconds = "", 1 })
	if e := mustGet(t, s, name); e.Record.Claim == nil || e.Record.Released() {
		t.Errorf("blanked, it says %+v", show(*e.Record))
	}
	v = mustEdit(t, r, name, func(o *codec.Object) { o.Fields.Holder, o.Fields.Transitions = "istiod-7c", 8 })
	e = mustGet(t, s, name)
	if e.Record.Bound() || e.Record.Unreadable != "" {
		t.Errorf("under a foreign holder it says %+v", show(*e.Record))
	}
	started := held(3)
	started.Rest = e.Record.Rest
	v = mustPut(t, s, name, started, v)
	says(t, mustGet(t, s, name), started, v)
	if o := mustRaw(t, r, name); o.Annotations[codec.ClaimAnnotation] != "" {
		t.Errorf("left behind: %v", o.Annotations)
	}
}

// testHolderKey checks that a holder's key comes and goes with the holder, if the kind of lock has room
// for one.
func testHolderKey(t *testing.T, r Realm) {
	s := r.Store()
	keyed := held(1)
	keyed.HolderKey = "^1-9-0"
	v := mustPut(t, s, name, keyed, record.Version{})
	e := mustGet(t, s, name)
	if k, ok := r.(Keyless); ok {
		says(t, e, held(1), v)
		mustEdit(t, r, name, func(o *codec.Object) { o.Annotations[k.KeyAnnotation()] = "default" })
		e = mustGet(t, s, name)
		if e.Record.HolderKey != "" {
			t.Errorf("read the key %q", e.Record.HolderKey)
		}
		keyed = held(2)
		keyed.HolderKey, keyed.Rest = "^1-9-0", e.Record.Rest
		mustPut(t, s, name, keyed, e.Version)
		if o := mustRaw(t, r, name); o.Annotations[k.KeyAnnotation()] != "default" {
			t.Errorf("others' annotation became %v", o.Annotations)
		}
		return
	}
	says(t, e, keyed, v)
	if e.Record.Rest != nil {
		t.Errorf("the key is kept twice: %+v", e.Record.Rest)
	}
	mustEdit(t, r, name, func(o *codec.Object) { o.Fields.HolderKey = "default" })
	e = mustGet(t, s, name)
	if e.Record.HolderKey != "default" || !e.Record.Bound() {
		t.Errorf("edited, it says %+v", show(*e.Record))
	}
	without := held(2)
	without.Rest = e.Record.Rest
	v = mustPut(t, s, name, without, e.Version)
	says(t, mustGet(t, s, name), without, v)
	if o := mustRaw(t, r, name); o.Fields.HolderKey != "" {
		t.Errorf("left behind: %+v", o.Fields)
	}
}

func testSession(t *testing.T, r Realm) {
	s := r.Store()
	const slot = "primacy-edge-edge-0-0"
	v := mustPut(t, s, slot, session(1), record.Version{})
	v = mustPut(t, s, slot, session(2), v)
	e := mustGet(t, s, slot)
	says(t, e, session(2), v)
	if !e.Record.Bound() || !e.Record.IsSession() {
		t.Errorf("bound %v, session %v", e.Record.Bound(), e.Record.IsSession())
	}
	o := mustRaw(t, r, slot)
	if o.Annotations[codec.BeatAnnotation] != "2" || strings.Contains(o.Annotations[codec.HolderAnnotation], "beat") {
		t.Errorf("a session's beat is stored as %v", o.Annotations)
	}
	ended := session(2)
	ended.Holder, ended.Duration = "", time.Second
	ended.Mark = &record.Mark{Transitions: 7, Beat: 3}
	v = mustPut(t, s, slot, ended, v)
	says(t, mustGet(t, s, slot), ended, v)
}

func testTimes(t *testing.T, r Realm) {
	s := r.Store()
	stamped := held(1)
	stamped.Acquired, stamped.Renewed = time.Time{}, time.Time{}
	v := mustPut(t, s, name, stamped, record.Version{})
	e := mustGet(t, s, name)
	if e.Record.Renewed.IsZero() || !e.Record.Renewed.Equal(e.Record.Acquired) {
		t.Errorf("zero times are written as %v and %v", e.Record.Acquired, e.Record.Renewed)
	}
	unit := time.Microsecond
	if coarse, ok := r.(Coarse); ok {
		unit = coarse.Unit()
	}
	if !e.Record.Renewed.Equal(e.Record.Renewed.Truncate(unit)) {
		t.Errorf("%v is finer than %v", e.Record.Renewed, unit)
	}
	fine := moment.Add(987654321 * time.Nanosecond)
	kept := held(2)
	kept.Renewed = fine.In(time.FixedZone("", 3600))
	v = mustPut(t, s, name, kept, v)
	kept.Renewed = fine.Truncate(unit)
	says(t, mustGet(t, s, name), kept, v)
}

func testOthersSurvive(t *testing.T, r Realm) {
	s := r.Store()
	mustPut(t, s, name, held(1), record.Version{})
	others := map[string]string{
		"example.com/note":            "hands off",
		"primacy.dev/pause":           `{"by":"ops"}`,
		"primacy.dev/request":         "edge-1",
		"primacy.dev/of-a-later-time": "1",
	}
	labels := map[string]string{"team": "edge", lock.ManagedByLabel: "Helm"}
	mustEdit(t, r, name, func(o *codec.Object) {
		maps.Copy(o.Annotations, others)
		maps.Copy(o.Labels, labels)
	})
	e := mustGet(t, s, name)
	next := held(2)
	next.Rest = e.Record.Rest
	v := mustPut(t, s, name, next, e.Version)
	says(t, mustGet(t, s, name), held(2), v)
	o := mustRaw(t, r, name)
	for k, want := range others {
		if o.Annotations[k] != want {
			t.Errorf("annotation %s is %q, want %q", k, o.Annotations[k], want)
		}
	}
	for k, want := range labels {
		if o.Labels[k] != want {
			t.Errorf("label %s is %q, want %q", k, o.Labels[k], want)
		}
	}
}

func testOursVanish(t *testing.T, r Realm) {
	s := r.Store()
	mustPut(t, s, name, session(1), record.Version{})
	mustEdit(t, r, name, func(o *codec.Object) { o.Annotations[codec.HandoverAnnotation] = "edge-9_00000000" })
	e := mustGet(t, s, name)
	if e.Record.HandoverTo == "" {
		t.Fatal("an edited handover is not read")
	}
	bare := record.Record{Holder: "foreign", Duration: 15 * time.Second, Acquired: moment, Renewed: moment, Rest: e.Record.Rest}
	v := mustPut(t, s, name, bare, e.Version)
	says(t, mustGet(t, s, name), bare, v)
	if o := mustRaw(t, r, name); len(o.Annotations) > 0 || len(o.Labels) > 0 {
		t.Errorf("left behind: %v %v", o.Annotations, o.Labels)
	}
}

// hugeIdentity names an edit with an identity larger than some kinds of object can hold.
const hugeIdentity = "identity of 1 MiB"

// hostile are edits that a stranger may make; we must notice and be able to repair each.
var hostile = map[string]func(*codec.Object){
	"broken holder":       func(o *codec.Object) { o.Annotations[codec.HolderAnnotation] = `{"identity":` },
	"holder of null":      func(o *codec.Object) { o.Annotations[codec.HolderAnnotation] = `null` },
	"holder of nothing":   func(o *codec.Object) { o.Annotations[codec.HolderAnnotation] = `{}` },
	"holder of a number":  func(o *codec.Object) { o.Annotations[codec.HolderAnnotation] = `7` },
	"holder, wrong type":  func(o *codec.Object) { o.Annotations[codec.HolderAnnotation] = `{"identity":1,"transitions":0}` },
	"mark without length": func(o *codec.Object) { o.Annotations[codec.HolderAnnotation] = `{"identity":"a","transitions":7}` },
	"mark, negative duration": func(o *codec.Object) {
		o.Annotations[codec.HolderAnnotation] = `{"identity":"a","transitions":7,"durationSeconds":-1}`
	},
	"mark, huge duration": func(o *codec.Object) {
		o.Annotations[codec.HolderAnnotation] = `{"identity":"a","transitions":7,"durationSeconds":9000000000000000000}`
	},
	"token of words":      func(o *codec.Object) { o.Annotations[codec.TokenAnnotation] = "many" },
	"token below zero":    func(o *codec.Object) { o.Annotations[codec.TokenAnnotation] = "-1" },
	"last token":          func(o *codec.Object) { o.Annotations[codec.TokenAnnotation] = "18446744073709551615" },
	"broken claim":        func(o *codec.Object) { o.Annotations[codec.ClaimAnnotation] = `{"identity":` },
	"claim of nobody":     func(o *codec.Object) { o.Annotations[codec.ClaimAnnotation] = `{"transitions":6,"durationSeconds":30}` },
	"claim, no duration":  func(o *codec.Object) { o.Annotations[codec.ClaimAnnotation] = `{"identity":"b","transitions":6}` },
	"claim without count": func(o *codec.Object) { o.Annotations[codec.ClaimAnnotation] = `{"identity":"b","durationSeconds":30}` },
	"broken history":      func(o *codec.Object) { o.Annotations[codec.HistoryAnnotation] = `[{"when":"soon"}]` },
	"broken member":       func(o *codec.Object) { o.Annotations[codec.MemberAnnotation] = `[]` },
	"beat on a lock":      func(o *codec.Object) { o.Annotations[codec.BeatAnnotation] = "1" },
	"huge annotation":     func(o *codec.Object) { o.Annotations[codec.HistoryAnnotation] = strings.Repeat("[", 200<<10) },
	"long identity":       func(o *codec.Object) { o.Fields.Holder = strings.Repeat("x", 100<<10) },
	hugeIdentity:          func(o *codec.Object) { o.Fields.Holder = strings.Repeat("x", 1<<20) },
	"huge duration":       func(o *codec.Object) { o.Fields.DurationSeconds = 1<<31 - 1 },
	"huge transitions":    func(o *codec.Object) { o.Fields.Transitions = 1<<31 - 1 },
	"renewed in year 1":   func(o *codec.Object) { o.Fields.Renewed = time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC) },
	"acquired at the end": func(o *codec.Object) {
		o.Fields.Acquired = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	},
}

func testHostile(t *testing.T, r Realm) {
	s := r.Store()
	for what, edit := range hostile {
		t.Run(what, func(t *testing.T) {
			e := mustGet(t, s, name)
			good := held(1)
			if !e.Absent() {
				good.Rest = e.Record.Rest
			}
			mustPut(t, s, name, good, e.Version)
			v, err := r.Edit(name, edit)
			if err != nil && what == hugeIdentity {
				t.Skipf("nobody can: %v", err)
			}
			if err != nil {
				t.Fatalf("edit: %v", err)
			}
			bad := mustGet(t, s, name)
			if bad.Version != v {
				t.Errorf("edited to %v, read at %v", v, bad.Version)
			}
			if bad.Record.Unreadable == "" || bad.Record.Bound() {
				t.Fatalf("unnoticed: %+v", bad.Record)
			}
			if line := bad.Record.Unreadable; len(line) > 200 || strings.ContainsAny(line, "\n\r") {
				t.Errorf("not one short line: %q", line)
			}
			repaired := held(2)
			repaired.Rest = bad.Record.Rest
			v = mustPut(t, s, name, repaired, bad.Version)
			says(t, mustGet(t, s, name), held(2), v)
		})
	}
}

// testLongHandover checks that a next holder whose name no member can have is nobody, and that the record can be written again
// as it was read. The record stays that of a living term.
func testLongHandover(t *testing.T, r Realm) {
	s := r.Store()
	mustPut(t, s, name, held(1), record.Version{})
	v := mustEdit(t, r, name, func(o *codec.Object) { o.Annotations[codec.HandoverAnnotation] = strings.Repeat("h", 100<<10) })
	read := mustGet(t, s, name)
	if read.Version != v || read.Record.Unreadable != "" || !read.Record.Bound() || read.Record.HandoverTo != "" {
		t.Fatalf("read as %+v", read.Record)
	}
	mustPut(t, s, name, *read.Record, v)
}

func testWatchHostile(t *testing.T, r Realm) {
	s := r.Store()
	mustPut(t, s, name, held(1), record.Version{})
	w := watch(t, s)
	w.await("a stream", func(e lock.Event) bool { return e.Kind == lock.Resumed })
	v := mustEdit(t, r, name, hostile["broken holder"])
	if e := w.change(name); e.Version != v || e.Record.Unreadable == "" {
		t.Errorf("shown as %+v", e)
	}
	listed := watch(t, r.Store()).await("a list", func(e lock.Event) bool { return e.Kind == lock.Listed })
	if len(listed.List) != 1 || listed.List[0].Version != v || listed.List[0].Record.Unreadable == "" {
		t.Errorf("listed as %+v", listed.List)
	}
}
