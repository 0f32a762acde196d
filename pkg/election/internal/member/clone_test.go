package member

import (
	"errors"
	"reflect"
	"testing"
	"time"
	"unsafe"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// sharedByClones are the fields that a clone shares with the Member, because nobody writes to their values.
var sharedByClones = map[string]string{
	"Config.Chance":        "the clone's host sees to it",
	"Election.Settings":    "does not change",
	"logger.fields":        "replaced, with their capacity clipped",
	"Member.preference":    "does not change",
	"Member.openNow":       "replaced",
	"Member.health":        "does not change",
	"Member.view":          "does not change",
	"Member.failed":        "does not change",
	"request.write":        "does not change",
	"asked.session":        "a value",
	"contest.state":        "machine.Step copies what it changes",
	"contest.leader":       "does not change",
	"contest.health":       "does not change",
	"contest.alarm":        "replaced",
	"contest.takenOver":    "does not change",
	"stream.names":         "replaced",
	"stream.trial":         "replaced",
	"stream.view":          "does not change",
	"Ranges.written":       "replaced",
	"Ranges.told":          "does not change",
	"gone.election":        "only read, and copied before it is used",
	"Member.preferred":     "does not change",
	"contest.preferred":    "does not change",
	"Member.out":           "the effects of the last step are the caller's",
	"Election.MigrateFrom": "does not change",
	"stream.denied":        "does not change",
	"Config.Proofs":        "does not change",
	"Heritage.newest":      "does not change",
	"Heritage.unshown":     "does not change",
}

// everything is a Member that has something in each field that a clone could share.
func everything() *Member {
	m := New(Config{Group: "edge", Identity: "m1_01234567", Host: "m1", WritesPerSecond: 1, Proofs: []record.Proof{record.ProofParent}})
	e := &Election{ID: 1, Name: "a", Lock: "a", Ranges: &Ranges{}, Settings: &Settings{}}
	outer := newContest(m, e, lockName{Store{ID: 1}, "old"})
	c := newContest(m, e, e.lockName())
	outer.inner, c.outer = c, outer
	outer.waiting = &waiting{}
	for _, one := range []*contest{outer, c} {
		m.sendings[one] = []sending{{beat: 1}, {beat: 2}}
		s := m.streamOf(one.lock.store)
		s.byLock[one.lock.name], s.denied, s.trial = one, []string{"x"}, []string{"y"}
		s.absences.listed(1, 1)
		m.timers.set(one, 5)
	}
	m.contests.add(c)
	over := newContest(m, &Election{ID: 2, Name: "b", Lock: "b", Ranges: &Ranges{}, Settings: &Settings{}}, lockName{Own, "b"})
	over.over = true
	for _, s := range []*set[*contest]{&m.going, &m.lowered, &m.unready, &m.dimmed, &m.heedful} {
		s.add(outer)
		s.add(c)
	}
	m.open[c] = true
	m.asked[1], m.asked[2] = asked{contest: c}, asked{contest: over}
	m.queue.add(asked{contest: c, request: request{store: Own, name: "a"}})
	m.queue.add(asked{contest: c, request: request{store: Own, name: "a", purpose: machine.Renew, write: &record.Record{}}})
	m.postponed = []*Election{{ID: 3, Ranges: &Ranges{}}}
	m.setup.add(e)
	m.unlike.known = []noted{{Difference: session.Difference{What: "x"}}}
	m.gone[c.lock], m.disowned[c.lock] = gone{beat: 1}, disowned{over: true}
	m.unshown = map[lockName]unshown{c.lock: {}}
	m.created.elections = []string{"a"}
	m.untold, m.room = []string{"a"}, make([]machine.Action, 1)
	m.heard["x"], m.handed[c.lock] = sign{of: "y"}, true
	m.trouble.note("write", lockName{name: "a"}, errors.New("x"))
	return m
}

// TestClonesShareNothing checks that a clone and its Member share only what nobody writes to. It fails for
// a new field that they share, unless sharedByClones lists the field.
func TestClonesShareNothing(t *testing.T) {
	m := everything()
	c := m.Clone()
	if c.dir == m.dir || c.own == m.own {
		t.Error("the session is shared")
	}
	mine, fields := map[unsafe.Pointer]string{}, map[string]bool{}
	places(reflect.ValueOf(m).Elem(), "m", fields, func(at unsafe.Pointer, path string) { mine[at] = path })
	places(reflect.ValueOf(c).Elem(), "c", fields, func(at unsafe.Pointer, path string) {
		if is, shared := mine[at]; shared {
			t.Errorf("%s is the other's %s", path, is)
		}
	})
	for field := range sharedByClones {
		if _, is := fields[field]; !is {
			t.Errorf("there is no %s", field)
		}
		delete(fields, field)
	}
	for field, held := range fields {
		if !held {
			t.Errorf("everything has nothing in %s, so nobody knows whether it is shared", field)
		}
	}
	if c.log.to != &c.out || c.trouble.log.to != &c.out {
		t.Error("a clone logs to the other")
	}
	for _, one := range c.contests.all {
		if one.m != c || one.outer.m != c || one.outer.inner != one || one.outer.election != one.election {
			t.Error("a clone's contest belongs to the other")
		}
	}
	if a := c.asked[2].contest; a == nil || a == m.asked[2].contest || a.m != c {
		t.Error("a contest that waits for an answer is not cloned")
	}
}

// places calls f for each pointer, map and slice reachable from v, and notes in fields which fields hold
// anything.
func places(v reflect.Value, path string, fields map[string]bool, f func(at unsafe.Pointer, path string)) {
	seen := map[unsafe.Pointer]bool{}
	var look func(v reflect.Value, path string)
	look = func(v reflect.Value, path string) {
		switch v.Kind() {
		case reflect.Struct:
			if v.Type().PkgPath() != reflect.TypeFor[Member]().PkgPath() {
				return
			}
			for i := range v.NumField() {
				name := v.Type().Name() + "." + v.Type().Field(i).Name
				if _, shared := sharedByClones[name]; shared || name == "Member.dir" || name == "Member.own" {
					fields[name] = true
					continue
				}
				one := v.Field(i)
				switch one.Kind() {
				case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Func, reflect.Chan:
					fields[name] = fields[name] || !one.IsNil()
				}
				look(one, path+"."+v.Type().Field(i).Name)
			}
		case reflect.Pointer, reflect.Map:
			at := v.UnsafePointer()
			if v.IsNil() || seen[at] {
				return
			}
			seen[at] = true
			f(at, path)
			if v.Kind() == reflect.Pointer {
				look(v.Elem(), path)
				return
			}
			for each := v.MapRange(); each.Next(); {
				look(each.Key(), path+"[key]")
				look(each.Value(), path+"[]")
			}
		case reflect.Slice:
			if v.Len() > 0 {
				f(v.UnsafePointer(), path)
			}
			for i := range v.Len() {
				look(v.Index(i), path+"[]")
			}
		case reflect.Array:
			for i := range v.Len() {
				look(v.Index(i), path+"[]")
			}
		}
	}
	look(v, path)
}

// TestACloneGoesOn checks that a clone does what its Member does, and that a step of the clone leaves the
// Member as it was.
func TestACloneGoesOn(t *testing.T) {
	m := New(Config{Group: "edge", Identity: "m1_01234567", Host: "m1", Timing: record.Timing{LeaseDuration: 4 * time.Second, RenewInterval: time.Second}})
	e := &Election{ID: 1, Name: "a", Lock: "a", Works: true, Settings: &Settings{}}
	if got := len(m.Step(1, time.Time{}, Elections{[]*Election{e}})); got == 0 {
		t.Fatal("nothing is done")
	}
	c := m.Clone()
	if m.Wake() != c.Wake() {
		t.Errorf("a clone wakes at %d, not at %d", c.Wake(), m.Wake())
	}
	at, wall := record.Instant(time.Hour), time.Time{}.Add(time.Hour)
	got := c.Step(at, wall, Leave{})
	if m.Leaving() != "" {
		t.Fatal("the Member leaves with its clone")
	}
	if want := m.Step(at, wall, Leave{}); !reflect.DeepEqual(got, want) {
		t.Errorf("a clone does\n%v\nand the Member\n%v", got, want)
	}
}
