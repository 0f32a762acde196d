package explore

import (
	"reflect"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// A line of the table that names no field classifies nothing.
func TestFieldsExist(t *testing.T) {
	found := map[string]bool{}
	seen := map[reflect.Type]bool{}
	var look func(reflect.Type)
	look = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice:
			look(of.Elem())
		case reflect.Struct:
			if seen[of] {
				return
			}
			seen[of] = true
			for i := range of.NumField() {
				f := of.Field(i)
				found[of.Name()+"."+f.Name] = true
				look(f.Type)
			}
		}
	}
	look(reflect.TypeFor[machine.State]())
	look(reflect.TypeFor[record.Record]())
	for name := range fields {
		if !found[name] {
			t.Errorf("fields.go knows %s, which does not exist", name)
		}
	}
}

// Two worlds that differ in one thing that matters are two states.
func TestFormsDiffer(t *testing.T) {
	o := Options{Members: 2, Timing: Tiny(), Budget: 1}
	x := newExplorer(o)
	base := x.canon.key(x.first())
	if again := x.canon.key(x.first()); again != base {
		t.Fatal("a world has two forms")
	}
	later := x.first()
	later.now += 100
	if x.canon.key(later) == base {
		t.Error("what waits for longer than it may looks the same")
	}
	for name, change := range map[string]func(*world){
		"budget":  func(w *world) { w.budget-- },
		"pause":   func(w *world) { w.edit(0).paused = true },
		"again":   func(w *world) { w.edit(0).again = w.local(0).Add(tick) },
		"work":    func(w *world) { w.edit(1).work = work{on: true, until: w.local(1).Add(tick), token: 1} },
		"role":    func(w *world) { w.edit(1).state().Role = machine.Draining },
		"queue":   func(w *world) { w.edit(1).streams[1].queue = nil },
		"step":    func(w *world) { w.step(1, member.Leave{}) },
		"revised": func(w *world) { w.commit(&record.Record{}) },
	} {
		w := x.first()
		change(w)
		if x.canon.key(w) == base {
			t.Errorf("a change of %s makes no other state", name)
		}
	}
}
