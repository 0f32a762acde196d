// Package strict decodes YAML nodes into structs and accepts nothing that it does
// not understand: no unknown field, no second value for a field, no value of
// another kind, no null, no anchor, alias, merge key or tag. Names are
// case-sensitive. Text that YAML reads as a number, a date or a boolean
// (revision: 1.10, name: no) must be quoted.
//
// A `yaml:"name"` tag names a struct field; a `strict:"required"` tag refuses its
// absence. An absent field keeps its value, so set defaults before decoding. Decode
// accepts these types: strings, booleans, integers, floats, time.Duration (from text
// such as 5s), structs (inlined by `yaml:",inline"`), pointers, slices, maps with
// string keys, yaml.Node and *yaml.Node (kept raw), and any Decoder. Any other type
// is a mistake in the program and panics.
//
// Decode reports all mistakes of a document in one pass, each with its place; see Error.
//
// The package starts no goroutine and keeps no state.
package strict
