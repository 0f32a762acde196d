package strict

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Decoder is a type that decodes itself. It may return errors of this package, with paths that start
// at the node; any other error gets the place of the node.
type Decoder interface {
	DecodeStrict(node *yaml.Node) error
}

// maxErrors bounds how many mistakes of one document are reported.
const maxErrors = 100

// Decode decodes the node into what `into` points to. The error, if any, is an Errors.
// Paths in it start at the node; see Rebase.
func Decode(node *yaml.Node, into any) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		panic(fmt.Sprintf("strict: cannot decode into %T: want a pointer", into))
	}
	if node != nil && node.Kind == yaml.DocumentNode && len(node.Content) == 1 {
		node = node.Content[0]
	}
	if node == nil || node.Kind == 0 {
		return Errors{NewError(node, "", "there is nothing here", "give it a value")}
	}
	if err := Plain(node); err != nil {
		return err
	}
	var d decoder
	d.value(node, v.Elem(), "")
	return d.errs.OrNil()
}

// Plain refuses anchors, aliases and tags, which make a document mean more than it says. Decode
// refuses them, too. The error, if any, is an Errors.
func Plain(node *yaml.Node) error {
	var d decoder
	d.refuseReferences(node, "", 0)
	return d.errs.OrNil()
}

type decoder struct {
	errs Errors
}

func (d *decoder) fail(node *yaml.Node, path, hint, problem string, args ...any) {
	if len(d.errs) < maxErrors {
		d.errs = append(d.errs, NewError(node, path, fmt.Sprintf(problem, args...), hint))
	}
}

var (
	nodeType     = reflect.TypeFor[yaml.Node]()
	durationType = reflect.TypeFor[time.Duration]()
)

func (d *decoder) value(node *yaml.Node, into reflect.Value, path string) {
	if custom, ok := into.Addr().Interface().(Decoder); ok {
		if err := custom.DecodeStrict(node); err != nil {
			d.errs = append(d.errs, rebase(err, "", path, node)...)
		}
		return
	}
	switch t := into.Type(); {
	case t == nodeType:
		into.Set(reflect.ValueOf(*node))
		return
	case t.Kind() == reflect.Pointer && t.Elem() == nodeType:
		into.Set(reflect.ValueOf(node))
		return
	case t.Kind() == reflect.Pointer:
		fresh := reflect.New(t.Elem())
		d.value(node, fresh.Elem(), path)
		into.Set(fresh)
		return
	}
	if isNull(node) {
		d.fail(node, path, "give it a value, or leave it out", "%s", nullProblem(node))
		return
	}
	switch into.Kind() {
	case reflect.Struct:
		if d.wants(node, yaml.MappingNode, path) {
			d.structure(node, into, path)
		}
	case reflect.Slice:
		if d.wants(node, yaml.SequenceNode, path) {
			d.list(node, into, path)
		}
	case reflect.Map:
		if d.wants(node, yaml.MappingNode, path) {
			d.mapping(node, into, path)
		}
	default:
		d.scalar(node, into, path)
	}
}

func (d *decoder) list(node *yaml.Node, into reflect.Value, path string) {
	list := reflect.MakeSlice(into.Type(), len(node.Content), len(node.Content))
	for i, entry := range node.Content {
		d.value(entry, list.Index(i), path+"["+strconv.Itoa(i)+"]")
	}
	into.Set(list)
}

func (d *decoder) mapping(node *yaml.Node, into reflect.Value, path string) {
	t := into.Type()
	if t.Key().Kind() != reflect.String {
		panic(fmt.Sprintf("strict: cannot decode into %v: keys must be strings", t))
	}
	m := reflect.MakeMapWithSize(t, len(node.Content)/2)
	d.pairs(node, path, func(key, value *yaml.Node) {
		if problem, hint := notText(key); problem != "" {
			d.fail(key, path, hint, "%s", problem)
			return
		}
		v := reflect.New(t.Elem()).Elem()
		d.value(value, v, joinKey(path, key.Value))
		m.SetMapIndex(reflect.ValueOf(key.Value).Convert(t.Key()), v)
	})
	into.Set(m)
}

func (d *decoder) structure(node *yaml.Node, into reflect.Value, path string) {
	fields, order := fieldsOf(into.Type())
	given := make(map[string]bool, len(order))
	d.pairs(node, path, func(key, value *yaml.Node) {
		f, known := fields[key.Value]
		if !known {
			d.fail(key, joinKey(path, key.Value), suggest(key.Value, order), "unknown field")
			return
		}
		given[key.Value] = true
		d.value(value, into.FieldByIndex(f.index), Join(path, key.Value))
	})
	for _, name := range order {
		if fields[name].required && !given[name] {
			d.fail(node, Join(path, name), "add "+name+": ...", "is missing")
		}
	}
}

// pairs calls use for each key that is a scalar and no repetition; it reports other keys.
func (d *decoder) pairs(node *yaml.Node, path string, use func(key, value *yaml.Node)) {
	lines := make(map[string]int, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			d.fail(key, path, "a key is one word followed by a colon", "%s cannot be a key", describe(key))
			continue
		}
		if line, twice := lines[key.Value]; twice {
			d.fail(key, joinKey(path, key.Value), "keep one of the two", "is given twice, first in line %d", line)
			continue
		}
		lines[key.Value] = key.Line
		use(key, value)
	}
}

// joinKey appends a key of the document to a path. It quotes a key that is not a plain word.
func joinKey(path, key string) string {
	word := key != "" && len(key) <= maxShown && strings.IndexFunc(key, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
	if word {
		return Join(path, key)
	}
	return path + "[" + show(key) + "]"
}
