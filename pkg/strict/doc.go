// Package strict decodes YAML nodes into structs and accepts nothing that it does
// not understand: no unknown field, no second value for a field, no value of
// another kind, no null, no anchor, alias, merge key or tag. Names are
// case-sensitive. Text that YAML reads as a number, a date or a boolean
// (revision: 1.10, name: no) must be quoted.
//
// Struct fields are named by a `yaml:"name"` tag; a `strict:"required"` tag refuses
// its absence. A field that is absent keeps the value it had, so defaults are set
// before decoding. These types are decoded: strings, booleans, integers, floats,
// time.Duration (from text such as 5s), structs (inlined by `yaml:",inline"`),
// pointers, slices, maps with string keys, yaml.Node and *yaml.Node (kept raw), and
// whatever is a Decoder. Any other type is a mistake of the program and panics.
//
// All mistakes of a document are reported in one pass, each with its place; see Error.
//
// The package starts no goroutine and keeps no state.
package strict
