package explore

import (
	"reflect"
	"strings"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/internal/session"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestFieldsAreKnown checks that for each field of packages session and member the canonical form has a
// place, or a reason to have none.
func TestFieldsAreKnown(t *testing.T) {
	for _, of := range []struct {
		known map[string]string
		roots []reflect.Type
		file  string
	}{
		{sessionFields, []reflect.Type{reflect.TypeFor[session.Own](), reflect.TypeFor[session.Directory]()}, "canon_sessions.go"},
		{driverFields, []reflect.Type{reflect.TypeFor[member.Member](), reflect.TypeFor[member.Heritage]()}, "canon_driver.go"},
	} {
		structs := map[string]bool{}
		for name := range of.known {
			structs[strings.Split(name, ".")[0]] = true
		}
		found, seen := map[string]bool{}, map[reflect.Type]bool{}
		var look func(reflect.Type)
		look = func(is reflect.Type) {
			switch is.Kind() {
			case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
				look(is.Elem())
				return
			case reflect.Struct:
			default:
				return
			}
			if seen[is] || is.PkgPath() != of.roots[0].PkgPath() {
				return
			}
			seen[is] = true
			for i := range is.NumField() {
				f := is.Field(i)
				if name := is.Name() + "." + f.Name; structs[is.Name()] {
					found[name] = true
					if _, known := of.known[name]; !known {
						t.Errorf("%s does not know %s", of.file, name)
					}
				}
				look(f.Type)
			}
		}
		for _, root := range of.roots {
			look(root)
		}
		for name := range of.known {
			if !found[name] {
				t.Errorf("%s knows %s, which does not exist", of.file, name)
			}
		}
	}
}

// TestFormsOfSessionsDiffer checks that two worlds whose sessions differ in one thing that matters are two
// states.
func TestFormsOfSessionsDiffer(t *testing.T) {
	x := newExplorer(Options{Members: 2, Timing: beating(), Renewal: record.RenewalSession, Beats: Prompt, Start: Settled, Budget: 1})
	base := x.canon.key(x.first())
	if again := x.canon.key(x.first()); again != base {
		t.Fatal("a world has two forms")
	}
	for name, change := range map[string]func(*world){
		"ended":      func(w *world) { w.edit(0).truth.ended = true },
		"leaving":    func(w *world) { w.step(0, member.Leave{}) },
		"preference": func(w *world) { w.step(0, member.Prefer{Preference: preference(revisionB)}) },
		"request":    func(w *world) { w.edit(1).requests = []request{{name: "primacy-edge-m2-0", phase: sent, at: w.now}} },
		"deleted":    func(w *world) { w.commitSession("primacy-edge-m1-0", nil) },
		"ended by 2": func(w *world) { w.edit(1).member.Directory().Vanished(w.local(1), w.local(1), "primacy-edge-m1-0") },
		"another beat": func(w *world) {
			r := *w.sessions[0].record
			mark := *r.Mark
			mark.Beat++
			r.Mark = &mark
			w.commitSession(w.sessions[0].name, &r)
		},
	} {
		w := x.first()
		change(w)
		if x.canon.key(w) == base {
			t.Errorf("a change of %s makes no other state", name)
		}
	}
}
