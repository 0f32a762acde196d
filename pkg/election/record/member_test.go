package record

import (
	"reflect"
	"slices"
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
		case reflect.Int, reflect.Int64:
			f.SetInt(1)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Struct:
			f.Field(0).SetString("x") // and a struct is compared as a whole
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		default:
			t.Fatalf("a field of kind %v: teach this test, and Equal", f.Kind())
		}
		name := reflect.TypeFor[Member]().Field(i).Name
		if leftOut := []string{"Lacks", "Lags", "Predecessors"}; m.Equal(&Member{}) != slices.Contains(leftOut, name) {
			t.Errorf("Equal does not look at %s, or looks at one of %v", name, leftOut)
		}
	}
}

func TestStandsFor(t *testing.T) {
	for _, tt := range []struct {
		standing   []string
		stands, no bool
	}{
		{nil, true, false},
		{[]string{"b"}, true, false},
		{[]string{"a", "b"}, false, false},
		{[]string{EveryElection}, false, true},
	} {
		m := Member{Standing: tt.standing}
		if m.StandsFor("a") != tt.stands || m.StandsForNone() != tt.no {
			t.Errorf("%v: stands for a: %v, for none: %v", tt.standing, m.StandsFor("a"), m.StandsForNone())
		}
		if open := (Member{Open: tt.standing}); open.KeepsOpen("a") == tt.stands {
			t.Errorf("%v: keeps a open: %v", tt.standing, open.KeepsOpen("a"))
		}
	}
}

func TestPins(t *testing.T) {
	for _, tt := range []struct {
		preferred Preferred
		identity  string
		want      bool
	}{
		{Preferred{State: PreferredSet, Revision: "red", Member: "web-0"}, "web-0_0a1b2c3d", true},
		{Preferred{State: PreferredUnset, Member: "web-0"}, "web-0_0a1b2c3d", true},
		{Preferred{State: PreferredNotSynced, Member: "web-0"}, "web-0_0a1b2c3d", false},
		{Preferred{Member: "web-0"}, "web-0_0a1b2c3d", false},
		{Preferred{State: PreferredUnset, Member: "web-0"}, "web-00_0a1b2c3d", false},
		{Preferred{State: PreferredUnset, Member: "web-0"}, "web-0", false},
		{Preferred{State: PreferredUnset, Member: "web-0"}, "web-0-0a1b2c3d", false},
		{Preferred{State: PreferredUnset, Member: "web-0"}, "", false},
		{Preferred{State: PreferredUnset}, "_0a1b2c3d", false},
		{Preferred{State: PreferredUnset}, "", false},
	} {
		if got := tt.preferred.Pins(tt.identity); got != tt.want {
			t.Errorf("%v pins %q: %v", tt.preferred, tt.identity, got)
		}
	}
}

func TestPreferencesDiffer(t *testing.T) {
	seen := map[string]Preferred{}
	for _, state := range []PreferredState{PreferredNotSynced, PreferredUnset} {
		for _, member := range []string{"", "a", "b"} {
			p := Preferred{State: state, Member: member}
			seen[p.String()] = p
		}
	}
	for _, revision := range []string{"red", "green"} {
		for _, member := range []string{"", "a", "b"} {
			p := Preferred{State: PreferredSet, Revision: revision, Member: member}
			seen[p.String()] = p
		}
	}
	for _, drained := range []Hosts{"", "a", "a,b"} {
		for _, paused := range []bool{false, true} {
			p := Preferred{State: PreferredSet, Revision: "blue", Drained: drained, Paused: paused}
			seen[p.String()] = p
		}
	}
	if len(seen) != 18 {
		t.Errorf("18 preferences have %d texts: %v", len(seen), seen)
	}
}
