package session

import (
	"reflect"
	"slices"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestCloneSharesNothing checks that changes of a clone do not change its original.
func TestCloneSharesNothing(t *testing.T) {
	d := NewDirectory("edge", record.Timing{})
	d.slots = slices.Grow([]*slot{{name: "a"}, {name: "b"}}, 4)
	o := NewOwn(Config{}, d, record.Member{})
	o.sent = slices.Grow([]sentBeat{{beat: 1}}, 4)
	o.fallen = []fallen{{slot: "a"}, {slot: "b"}}
	o.ending["a"] = ending{next: 1}

	e := d.Clone()
	c := o.Clone(e)
	if c.dir != e {
		t.Error("a copy has the other's directory")
	}
	e.remove(1, "a")
	c.sent = append(c.sent, sentBeat{beat: 2})
	c.sent[0].beat = 3
	c.fallen = slices.Delete(c.fallen, 0, 1)
	c.ending["b"] = ending{}
	delete(c.ending, "a")
	c.unfit["a"] = record.Version{UID: "u"}

	if len(d.slots) != 2 || d.slots[0] == nil || d.slots[0].name != "a" {
		t.Error("the slots are shared")
	}
	if o.sent[0].beat != 1 || o.sent[:2][1].beat != 0 {
		t.Error("the beats that were sent are shared")
	}
	if o.fallen[0].slot != "a" || len(o.ending) != 1 || o.ending["a"].next != 1 || len(o.unfit) != 0 {
		t.Error("what fell, is being ended, or is unfit, is shared")
	}
}

// TestCloneKnowsAllThatIsShared fails for a new field that an assignment of the struct does not copy, until
// Clone handles the field and known lists it.
func TestCloneKnowsAllThatIsShared(t *testing.T) {
	known := []string{"Own.dir", "Own.fallen", "Own.ending", "Own.unfit", "Own.sent", "Own.deaths", "Directory.slots", "Directory.view", "Own.predecessors", "Directory.predecessors"}
	for _, of := range []reflect.Type{reflect.TypeFor[Own](), reflect.TypeFor[Directory]()} {
		for i := range of.NumField() {
			f := of.Field(i)
			shares := f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Map || f.Type.Kind() == reflect.Pointer
			if shares && !slices.Contains(known, of.Name()+"."+f.Name) {
				t.Errorf("Clone does not know %s.%s", of.Name(), f.Name)
			}
		}
	}
}
