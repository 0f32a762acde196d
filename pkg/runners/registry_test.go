package runners_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/strict"
)

func node(t *testing.T, text string) *yaml.Node {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Content[0]
}

// registry has kinds a and b. Their runners return the block's `say`, and their own name.
func registry() *runners.Registry {
	decode := func(node *yaml.Node, env runners.Env) (election.Runner, error) {
		var block struct {
			Say string `yaml:"say" strict:"required"`
		}
		if err := strict.Decode(node, &block); err != nil {
			return nil, err
		}
		if env.Clock == nil || env.Log == nil {
			return nil, errors.New("no clock or log was given")
		}
		return election.RunnerFunc(func(context.Context, election.Term) error {
			return errors.New(env.Election + "/" + env.Runner + " says " + block.Say)
		}), nil
	}
	r := runners.NewRegistry()
	r.Register("b", decode)
	r.Register("a", decode)
	return r
}

func TestDecode(t *testing.T) {
	c, err := registry().Decode(node(t, "name: w\na: {say: hello}"), runners.Env{Election: "e"})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Runner.Run(t.Context(), election.Term{}).Error(); c.Name != "w" || got != "e/w says hello" {
		t.Errorf("decoded %q: %s", c.Name, got)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"[]":                               "1:1: want a mapping, got a list",
		"name: w":                          "1:1: the runner has no kind (the kinds are: a, b)",
		"a: {say: x}":                      "1:1: name: is missing",
		"name: w\nc: {say: x}":             "2:1: c: is no kind of runner (did you mean a?)",
		"name: w\na: {say: x}\nb: {}":      "3:1: b: is a second kind beside a",
		"name: w\na: {say: x}\na: {}":      "3:1: a: is given twice",
		"name: w\nname: m\na: {say: x}":    "2:1: name: is given twice",
		"name: no\na: {say: x}":            "1:7: name: no is a boolean, want text",
		"name: \"\"\na: {say: x}":          "1:7: name: is empty",
		"name: [w]\na: {say: x}":           "1:7: name: want",
		"name: w\na:\n  say: x\n  sya: y":  "4:3: a.sya: unknown field",
		"name: w\na: {}":                   "2:4: a.say: is missing",
		"name: w\na:":                      "2:3: a: has no value",
		"name: w\n\"name\\0\": {say: x}\n": "is no kind of runner",
	} {
		_, err := registry().Decode(node(t, text), runners.Env{})
		var errs strict.Errors
		if err == nil || !errors.As(err, &errs) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestRegisterPanics(t *testing.T) {
	decode := func(*yaml.Node, runners.Env) (election.Runner, error) { return nil, nil }
	for name, register := range map[string]func(*runners.Registry){
		"twice":       func(r *runners.Registry) { r.Register("a", decode) },
		"without one": func(r *runners.Registry) { r.Register("c", nil) },
		"no name":     func(r *runners.Registry) { r.Register("", decode) },
		"reserved":    func(r *runners.Registry) { r.Register("name", decode) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it did not panic")
				}
			}()
			register(registry())
		})
	}
}
