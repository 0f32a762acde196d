package record

import (
	"reflect"
	"testing"
)

func TestEqualLooksAtEveryField(t *testing.T) {
	var same Member
	if !same.Equal(&Member{}) {
		t.Error("two empty members differ")
	}
	for i := range reflect.TypeFor[Member]().NumField() {
		var m Member
		switch f := reflect.ValueOf(&m).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Int:
			f.SetInt(1)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Slice:
			f.Set(reflect.ValueOf([]string{"x"}))
		default:
			t.Fatalf("a field of kind %v: teach this test, and Equal", f.Kind())
		}
		if m.Equal(&Member{}) {
			t.Errorf("Equal does not look at %s", reflect.TypeFor[Member]().Field(i).Name)
		}
	}
}
