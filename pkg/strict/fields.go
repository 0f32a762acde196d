package strict

import (
	"fmt"
	"reflect"
	"strings"
)

// field is one name that a struct accepts.
type field struct {
	index    []int
	required bool
}

// fieldsOf reads the tags of a struct. It returns its fields by name, and the names in order.
func fieldsOf(t reflect.Type) (map[string]field, []string) {
	fields := make(map[string]field, t.NumField())
	var order []string
	add := func(name string, f field) {
		if _, twice := fields[name]; twice {
			panic(fmt.Sprintf("strict: %v has two fields named %s", t, name))
		}
		fields[name] = f
		order = append(order, name)
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case options == "inline":
			inner, names := fieldsOf(f.Type)
			for _, n := range names {
				in := inner[n]
				add(n, field{append([]int{i}, in.index...), in.required})
			}
		case name == "-" || !f.IsExported():
		case name == "":
			panic(fmt.Sprintf("strict: %v.%s has no yaml tag", t, f.Name))
		default:
			add(name, field{[]int{i}, f.Tag.Get("strict") == "required"})
		}
	}
	return fields, order
}
