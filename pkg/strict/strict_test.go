package strict_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/strict"
)

type colour string

func (c *colour) DecodeStrict(node *yaml.Node) error {
	var s string
	if err := strict.Decode(node, &s); err != nil {
		return err
	}
	if s != "red" && s != "green" {
		return fmt.Errorf("unknown colour %q", s)
	}
	*c = colour(s)
	return nil
}

type common struct {
	Note string `yaml:"note"`
}

type entry struct {
	Name  string     `yaml:"name" strict:"required"`
	Raw   yaml.Node  `yaml:"raw"`
	Point *yaml.Node `yaml:"point"`
}

type sample struct {
	common   `yaml:",inline"`
	Name     string            `yaml:"name"`
	Revision string            `yaml:"revision"`
	Weight   int               `yaml:"weight"`
	Small    uint8             `yaml:"small"`
	Drift    float64           `yaml:"drift"`
	On       bool              `yaml:"on"`
	Grace    time.Duration     `yaml:"grace"`
	Maybe    *time.Duration    `yaml:"maybe"`
	Entries  []entry           `yaml:"entries"`
	Command  []string          `yaml:"command"`
	Env      map[string]string `yaml:"env"`
	Colour   colour            `yaml:"colour"`
	ignored  int
}

func parse(t testing.TB, text string) *yaml.Node {
	t.Helper()
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(text), &node); err != nil {
		t.Fatal(err)
	}
	return &node
}

func TestDecodeAll(t *testing.T) {
	s := sample{Weight: 7, ignored: 1}
	err := strict.Decode(parse(t, `
note: all's well
name: 1-9-0
revision: "1.10"
small: 255
drift: 5e-3
on: true
grace: 1m30s
maybe: 5s
entries:
- name: a
  raw: {x: [1, 2]}
- {name: 'no', point: 1.5}
command: [./run, --once=false, "8080"]
env: {PATH: /bin, a.b: "1"}
colour: red
`), &s)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintln(s.Note, s.Name, s.Revision, s.Weight, s.Small, s.Drift, s.On, s.Grace, *s.Maybe, s.Command, s.Env, s.Colour)
	const want = "all's well 1-9-0 1.10 7 255 0.005 true 1m30s 5s [./run --once=false 8080] map[PATH:/bin a.b:1] red\n"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if e := s.Entries; e[0].Raw.Kind != yaml.MappingNode || e[0].Raw.Line != 12 || e[1].Name != "no" || e[1].Point.Value != "1.5" {
		t.Errorf("entries: %+v", e)
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`nmae: x`, `1:1: nmae: unknown field (did you mean name?)`},
		{`Name: x`, `1:1: Name: unknown field (did you mean name?)`},
		{`zzzzzz: x`, `1:1: zzzzzz: unknown field (known here: note, name, revision, weight, small, drift, on, grace, maybe, entries, command, env, colour)`},
		{"name: x\nname: y", `2:1: name: is given twice, first in line 1 (keep one of the two)`},
		{`"a b": x`, `1:1: ["a b"]: unknown field (known here: note, name, revision, weight, small, drift, on, grace, maybe, entries, command, env, colour)`},
		{`? [a]` + "\n: b", `1:3: a list cannot be a key (a key is one word followed by a colon)`},
		{`revision: 1.10`, `1:11: revision: 1.10 is a number, want text (write it quoted: "1.10")`},
		{`revision: 0777`, `1:11: revision: 0777 is a number, want text (write it quoted: "0777")`},
		{`revision: 1e3`, `1:11: revision: 1e3 is a number, want text (write it quoted: "1e3")`},
		{`revision: 2026-11-20`, `1:11: revision: 2026-11-20 is a date, want text (write it quoted: "2026-11-20")`},
		{`name: no`, `1:7: name: no is a boolean, want text (write it quoted: "no")`},
		{`name: true`, `1:7: name: true is a boolean, want text (write it quoted: "true")`},
		{`name: Off`, `1:7: name: Off is a boolean, want text (write it quoted: "Off")`},
		{`name:`, `1:6: name: has no value (give it a value, or leave it out)`},
		{`name: ~`, `1:7: name: must not be null (give it a value, or leave it out)`},
		{`name: [a]`, `1:7: name: want a single value, got a list`},
		{`weight: "1"`, `1:9: weight: want a whole number, got "1" (write it without quotes: 1)`},
		{`weight: 0x10`, `1:9: weight: want a whole number, got "0x10" (write decimal digits only, such as 100)`},
		{`weight: 010`, `1:9: weight: want a whole number, got "010" (write decimal digits only, such as 100)`},
		{`weight: 99999999999999999999`, `1:9: weight: 99999999999999999999 is out of range`},
		{`small: -1`, `1:8: small: -1 is out of range`},
		{`small: 256`, `1:8: small: 256 is out of range`},
		{`drift: .nan`, `1:8: drift: want a number, got ".nan" (write a decimal number, such as 0.005)`},
		{`drift: "0.1"`, `1:8: drift: want a number, got "0.1" (write it without quotes: 0.1)`},
		{`drift: 1e999`, `1:8: drift: 1e999 is out of range`},
		{`on: yes`, `1:5: on: want true or false, got "yes" (write true)`},
		{`on: "no"`, `1:5: on: want true or false, got "no" (write true or false, without quotes)`},
		{`grace: 5`, `1:8: grace: "5" has no unit (5 → "5s")`},
		{`grace: "0.5"`, `1:8: grace: "0.5" has no unit (0.5 → "0.5s")`},
		{`grace: 1d`, `1:8: grace: want a duration, got "1d" (write a number with a unit (ms, s, m, h), such as 5s or 1m30s)`},
		{`maybe: null`, `1:8: maybe: must not be null (give it a value, or leave it out)`},
		{`entries: {name: x}`, `1:10: entries: want a list, got a mapping (write [a, b], or an entry a line, each after "- ")`},
		{`entries: [x]`, `1:11: entries[0]: want a mapping, got "x" (write fields as name: value)`},
		{`entries: [{name: x}, {raw: 1}]`, `1:22: entries[1].name: is missing (add name: ...)`},
		{`command: [a, 80]`, `1:14: command[1]: 80 is a number, want text (write it quoted: "80")`},
		{`env: {1: x}`, `1:7: env: 1 is a number, want text (write it quoted: "1")`},
		{`env: {a.b: 2}`, `1:12: env["a.b"]: 2 is a number, want text (write it quoted: "2")`},
		{`colour: blue`, `1:9: colour: unknown colour "blue"`},
		{`colour: 1`, `1:9: colour: 1 is a number, want text (write it quoted: "1")`},
		{`name: &a x`, `1:7: name: anchors (&a) are not supported (leave the anchor out)`},
		{"name: &a x\nrevision: *a", "1:7: name: anchors (&a) are not supported (leave the anchor out)\n2:11: revision: aliases (*a) are not supported (write the value out)"},
		{`<<: {name: x}`, `1:1: merge keys (<<) are not supported (write the fields out)`},
		{`name: !!str 1`, `1:7: name: tags (!!str) are not supported (leave the tag out; quote what is text)`},
		{`name: !secret x`, `1:7: name: tags (!secret) are not supported (leave the tag out; quote what is text)`},
		{`env: {a: ` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, `1:109: nested deeper than 100 blocks`},
		{`[]`, `1:1: want a mapping, got a list (write fields as name: value)`},
		{"weight: x\nname: 1", "1:9: weight: want a whole number, got \"x\" (write decimal digits only, such as 100)\n2:7: name: 1 is a number, want text (write it quoted: \"1\")"},
		{`name: "` + strings.Repeat("x", 99) + `"` + "\nweight: " + strings.Repeat("y", 99), `2:9: weight: want a whole number, got "` + strings.Repeat("y", 64) + `..." (write decimal digits only, such as 100)`},
	} {
		var s sample
		err := strict.Decode(parse(t, c.text), &s)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestErrorsUnwrap(t *testing.T) {
	var s sample
	err := strict.Decode(parse(t, "weight: x\nname: 1"), &s)
	var one *strict.Error
	if !errors.As(fmt.Errorf("load: %w", err), &one) || one.Line != 1 || one.Field != "weight" {
		t.Errorf("got %+v", one)
	}
}

func TestNothing(t *testing.T) {
	var s sample
	for _, node := range []*yaml.Node{nil, {}} {
		if err := strict.Decode(node, &s); err == nil || err.Error() != "there is nothing here (give it a value)" {
			t.Errorf("got %v", err)
		}
	}
}

func TestRebase(t *testing.T) {
	root := parse(t, "a:\n- b: {weight: x, command: 1}")
	block, ok := strict.Lookup(root, "a[0].b")
	if !ok {
		t.Fatal("no block")
	}
	var s sample
	err := strict.Rebase(strict.Decode(block, &s), "f.yaml", "a[0].b", block)
	const want = `f.yaml:2:15: a[0].b.weight: want a whole number, got "x" (write decimal digits only, such as 100)
f.yaml:2:27: a[0].b.command: want a list, got "1" (write [a, b], or an entry a line, each after "- ")`
	if err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	err = strict.Rebase(errors.New("no such program"), "f.yaml", "a[0].b", block)
	if err.Error() != "f.yaml:2:6: a[0].b: no such program" {
		t.Errorf("got %v", err)
	}
	if strict.Rebase(nil, "f.yaml", "", nil) != nil {
		t.Error("nil must stay nil")
	}
}

func TestLookupNearest(t *testing.T) {
	root := parse(t, "a:\n- b: {c: 1}")
	for path, line := range map[string]string{"a[0].b.c": "2:10 true", "a[0].b.d": "2:6 false", "a[7]": "2:1 false", "x.y": "1:1 false", "": "1:1 true"} {
		node, ok := strict.Lookup(root, path)
		if got := fmt.Sprintf("%d:%d %v", node.Line, node.Column, ok); got != line {
			t.Errorf("%q: got %s, want %s", path, got, line)
		}
	}
}

func TestAliasesDoNotExplode(t *testing.T) {
	text := "a: &a0 [x]\n"
	for i := range 60 {
		text += fmt.Sprintf("b%d: &a%d [*a%d, *a%d, *a%d]\n", i, i+1, i, i, i)
	}
	var s sample
	if err := strict.Decode(parse(t, text), &s); err == nil || !strings.Contains(err.Error(), "aliases") {
		t.Errorf("got %v", err)
	}
}

func TestSuggest(t *testing.T) {
	known := []string{"exec", "func", "plugin"}
	for name, want := range map[string]string{"exce": "did you mean exec?", "Func": "did you mean func?", "docker": "known here: exec, func, plugin"} {
		if got := strict.Suggest(name, known); got != want {
			t.Errorf("%s: got %s", name, got)
		}
	}
	if strict.Suggest("x", nil) != "" {
		t.Error("nothing known, nothing to suggest")
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"name: x", "revision: 1.10", "entries: [{name: a, raw: [1]}]", "a: &a [*a]", "<<: {x: 1}", "? {a: b}\n: c", "env: {~: 1}", "grace: 5", "colour: red", "!!int x: y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var node yaml.Node
		if yaml.Unmarshal([]byte(text), &node) != nil {
			return
		}
		var s sample
		err := strict.Decode(&node, &s)
		if err == nil {
			return
		}
		var errs strict.Errors
		if !errors.As(err, &errs) || len(errs) == 0 {
			t.Fatalf("not an Errors: %v", err)
		}
		for _, e := range errs {
			if e.Problem == "" || e.Line < 0 {
				t.Errorf("an error without a place or problem: %+v", e)
			}
		}
	})
}
