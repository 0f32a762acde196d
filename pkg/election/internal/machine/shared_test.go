package machine

import (
	"reflect"
	"testing"
	"unsafe"
)

// TestNobodyWritesToNoForeigners checks that noForeigners stays empty, whatever the other tests did: all
// states that know of no foreign elector share it.
func TestNobodyWritesToNoForeigners(t *testing.T) {
	e := newEnvironment(t.Output())
	for _, line := range []string{"member m1 sharing=client-go", "stored foreign by=other-1", "list", "tick"} {
		e.run(line)
	}
	if e.state.foreign == noForeigners || len(e.state.foreign.suspects) == 0 {
		t.Fatal("this shows nothing: no foreign elector is known")
	}
	if !noForeigners.isNothing() {
		t.Errorf("%+v", *noForeigners)
	}
}

// TestNothingIsKnown checks that isNothing looks at every field: a state must keep whatever it knows of
// foreign electors.
func TestNothingIsKnown(t *testing.T) {
	if !(&foreign{}).isNothing() {
		t.Error("something is known from the start")
	}
	for n := range reflect.TypeFor[foreign]().NumField() {
		f := foreign{suspects: nil}
		v := reflect.ValueOf(&f).Elem().Field(n)
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem() // #nosec G103 -- the field is ours
		switch v.Kind() {
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case reflect.Struct:
			inner := v.Field(0)
			for inner.Kind() == reflect.Struct {
				inner = inner.Field(0)
			}
			inner = reflect.NewAt(inner.Type(), unsafe.Pointer(inner.UnsafeAddr())).Elem() // #nosec G103 -- the field is ours
			inner.SetString("x")
		default:
			v.SetInt(1)
		}
		if f.isNothing() {
			t.Errorf("%s would be forgotten", reflect.TypeFor[foreign]().Field(n).Name)
		}
	}
}
