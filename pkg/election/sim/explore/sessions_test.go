package explore

import (
	"reflect"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/session"
)

// Each field of package session has its place in the canonical form, or a reason.
func TestSessionFieldsAreKnown(t *testing.T) {
	own, dir := reflect.TypeFor[session.Own](), reflect.TypeFor[session.Directory]()
	slots, _ := dir.FieldByName("slots")
	found := map[string]bool{}
	for _, of := range []reflect.Type{own, dir, slots.Type.Elem().Elem()} {
		for i := range of.NumField() {
			name := of.Name() + "." + of.Field(i).Name
			found[name] = true
			if _, known := sessionFields[name]; !known {
				t.Errorf("canon_sessions.go does not know %s", name)
			}
		}
	}
	for name := range sessionFields {
		if !found[name] {
			t.Errorf("canon_sessions.go knows %s, which does not exist", name)
		}
	}
}

// Two worlds whose sessions differ in one thing that matters are two states.
func TestFormsOfSessionsDiffer(t *testing.T) {
	x := newExplorer(Options{Members: 2, Timing: beating(), Renewal: record.RenewalSession, Beats: Prompt, Start: Settled, Budget: 1})
	base := x.canon.key(x.first())
	if again := x.canon.key(x.first()); again != base {
		t.Fatal("a world has two forms")
	}
	for name, change := range map[string]func(*world){
		"ended":      func(w *world) { w.edit(0).truth.ended = true },
		"ending":     func(w *world) { w.edit(0).ending = machine.ReasonBlind },
		"leaving":    func(w *world) { w.edit(0).own.Leave() },
		"abandoned":  func(w *world) { w.edit(0).own.Abandon() },
		"published":  func(w *world) { w.edit(0).own.Publish(published(0, 0, revisionB)) },
		"beat":       func(w *world) { w.edit(0).beat.Sent -= record.Instant(tick) },
		"told":       func(w *world) { w.edit(0).told -= record.Instant(tick) },
		"request":    func(w *world) { w.edit(1).requests = []request{{name: "primacy-edge-m2-0", phase: sent, at: w.now}} },
		"deleted":    func(w *world) { w.commitSession("primacy-edge-m1-0", nil) },
		"ended by 2": func(w *world) { w.edit(1).dir.Vanished("primacy-edge-m1-0", w.local(1)) },
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
