package schema

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/strict"
)

// Described is a type that describes itself, since it decodes itself. A struct that decodes itself and is not
// Described may hold anything.
type Described interface {
	Schema() *Schema
}

// Options say what the types themselves cannot.
type Options struct {
	// Words are lists of words, for tags such as oneof:"@policies".
	Words map[string][]string
	// Forms are the forms of names.
	Forms map[string]Form
	// Types describes types that decode themselves. The result is used as it is.
	Types map[reflect.Type]*Schema
}

// Block is a value of a type that package strict decodes, with its defaults, and the source that
// declares the type.
type Block struct {
	Value  any
	Source Source
	// Description says what the block is for, in Markdown.
	Description string
	// Forms are the block's own forms of names, beside those of Options.
	Forms map[string]Form
}

// Schema describes the block. A mistake in a tag panics: it is one in the program.
func (b Block) Schema(o Options) *Schema {
	forms := maps.Clone(o.Forms)
	if forms == nil {
		forms = map[string]Form{}
	}
	maps.Copy(forms, b.Forms)
	o.Forms = forms
	return reflector{o, b.Source.comments()}.value(reflect.ValueOf(b.Value))
}

type reflector struct {
	Options
	comments comments
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	decoderType  = reflect.TypeFor[strict.Decoder]()
)

func (r reflector) value(v reflect.Value) *Schema {
	t := v.Type()
	if s := r.Types[t]; s != nil {
		return s
	}
	if d, ok := v.Interface().(Described); ok && t.Kind() != reflect.Pointer {
		return d.Schema()
	}
	switch {
	case t == reflect.TypeFor[yaml.Node]():
		return &Schema{}
	case t == durationType:
		return Duration()
	case t.Kind() == reflect.Pointer:
		return r.value(reflect.Zero(t.Elem()))
	case t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(decoderType):
		return &Schema{} // it does not say what it reads
	case t.Kind() == reflect.Struct:
		return &Schema{Type: "object", Properties: r.fields(v)}
	case t.Kind() == reflect.Slice:
		return &Schema{Type: "array", Items: r.value(reflect.Zero(t.Elem()))}
	case t.Kind() == reflect.Map:
		return &Schema{Type: "object", Open: true}
	case t.Kind() == reflect.Bool:
		return &Schema{Type: "boolean"}
	case v.CanInt():
		return &Schema{Type: "integer"}
	case v.CanUint():
		return &Schema{Type: "integer", Min: new(float64)}
	case v.CanFloat():
		return &Schema{Type: "number"}
	case t.Kind() == reflect.String:
		return &Schema{Type: "string"}
	}
	panic(fmt.Sprintf("schema: cannot describe %v", t))
}

// fields describes the keys of a struct as package strict reads them.
func (r reflector) fields(v reflect.Value) (list []Property) {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case options == "inline":
			list = append(list, r.fields(v.Field(i))...)
		case name != "" && name != "-" && f.IsExported():
			list = append(list, r.field(t, f, name, v.Field(i)))
		}
	}
	return list
}

func (r reflector) field(in reflect.Type, f reflect.StructField, name string, v reflect.Value) Property {
	described := *r.value(v)
	s := &described
	p := Property{Name: name, Required: f.Tag.Get("strict") == "required", Excludes: f.Tag.Get("excludes"), Schema: s}
	if other, value, ok := strings.Cut(f.Tag.Get("needs"), "="); ok {
		p.Needs = [2]string{other, value}
	}
	if c := r.comments[in.String()+"."+f.Name]; c != "" {
		s.Description = c
	}
	at := fmt.Sprintf("%v.%s", in, f.Name)
	r.words(at, f.Tag.Get("oneof"), s)
	if form := f.Tag.Get("form"); form != "" {
		rule, known := r.Forms[form]
		if !known {
			panic(fmt.Sprintf("schema: %s has the unknown form %q", at, form))
		}
		s.Patterns, s.MaxLength, s.Called = []string{rule.Pattern}, rule.Max, "name"
	}
	s.bounds(at, f.Tag.Get("min"), f.Tag.Get("max"))
	s.Unique = f.Tag.Get("unique") != ""
	if lacking := f.Tag.Get("without"); lacking != "" {
		s.Properties = slices.DeleteFunc(slices.Clone(s.Properties), func(p Property) bool { return p.Name == lacking })
	}
	s.Otherwise = f.Tag.Get("otherwise")
	switch fixed := f.Tag.Get("default"); {
	case fixed != "":
		s.Default = s.parsed(at, fixed)
	case !v.IsZero() && s.Type != "object" && s.Type != "array" && s.Called != "duration":
		s.Default = v.Interface()
	}
	return p
}

// words reads the tag with the words that a text may be. For a list they are those of each entry.
func (r reflector) words(at, tag string, s *Schema) {
	if tag == "" {
		return
	}
	words := strings.Fields(tag)
	if list, named := strings.CutPrefix(tag, "@"); named {
		words = r.Words[list]
		if words == nil {
			panic(fmt.Sprintf("schema: %s wants the unknown words %q", at, list))
		}
	}
	if s.Type == "array" {
		of := *s.Items
		of.Enum, s.Items = words, &of
		return
	}
	s.Enum = words
}

func (s *Schema) bounds(at, least, most string) {
	number := func(text string) *float64 {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(fmt.Sprintf("schema: %s has the bound %q", at, text))
		}
		return &n
	}
	if rest, above := strings.CutPrefix(least, ">"); above && s.Called == "duration" {
		s.Patterns = append(s.Patterns, somePositive)
	} else if least != "" {
		s.Min, s.MinExcluded = number(rest), above
	}
	if rest, below := strings.CutPrefix(most, "<"); most != "" {
		s.Max, s.MaxExcluded = number(rest), below
	}
}

// parsed is a default as it stands in a document.
func (s *Schema) parsed(at, text string) any {
	var v any
	switch s.Type {
	case "boolean":
		v = text == "true"
	case "integer", "number":
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(fmt.Sprintf("schema: %s has the default %q", at, text))
		}
		v = n
	default:
		v = text
	}
	return v
}
