package exec

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/config/strict"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners"
)

// block is what the configuration says.
type block struct {
	Command   []string      `yaml:"command" strict:"required"`
	StopGrace time.Duration `yaml:"stopGrace"`
	Dir       string        `yaml:"dir"`
	Env       []variable    `yaml:"env"`
}

type variable struct {
	Name  string `yaml:"name" strict:"required"`
	Value string `yaml:"value" strict:"required"`
}

// Kind decodes `exec:` blocks.
func Kind() runners.Decoder {
	return func(node *yaml.Node, env runners.Env) (election.Runner, error) {
		b := block{StopGrace: env.StopGrace}
		if err := strict.Decode(node, &b); err != nil {
			return nil, err
		}
		if err := b.check(node, env.StopGrace); err != nil {
			return nil, err
		}
		c := Command{Name: env.Runner, Args: b.Command, Dir: b.Dir, StopGrace: b.StopGrace, Clock: env.Clock, Log: env.Log}
		for _, v := range b.Env {
			c.Env = append(c.Env, v.Name+"="+v.Value)
		}
		return New(c), nil
	}
}

// reserved is how the names begin that the program gets from us.
const reserved = "PRIMACY_"

// check says what cannot be, though it could be decoded.
func (b *block) check(node *yaml.Node, stopGrace time.Duration) error {
	var errs strict.Errors
	fail := func(field, problem, hint string) {
		at, _ := strict.Lookup(node, field)
		errs = append(errs, strict.NewError(at, field, problem, hint))
	}
	if len(b.Command) == 0 || b.Command[0] == "" {
		fail("command", "names no program", "give the program and its arguments, such as [./bin/writer, --verbose]")
	}
	if slices.ContainsFunc(b.Command, hasNUL) {
		fail("command", "has a NUL byte in it", "no argument of a program can have one")
	}
	if hasNUL(b.Dir) {
		fail("dir", "has a NUL byte in it", "no path can have one")
	}
	if b.StopGrace < 0 {
		fail("stopGrace", fmt.Sprintf("%v is negative", b.StopGrace), "leave it out to get the election's")
	}
	if b.StopGrace > stopGrace {
		fail("stopGrace", fmt.Sprintf("%v is longer than the election's stopGrace %v: the program must be dead before that", b.StopGrace, stopGrace),
			"shorten it, or lengthen the election's")
	}
	seen := map[string]bool{}
	for i, v := range b.Env {
		name, value := fmt.Sprintf("env[%d].name", i), fmt.Sprintf("env[%d].value", i)
		switch {
		case v.Name == "" || hasNUL(v.Name) || strings.Contains(v.Name, "="):
			fail(name, fmt.Sprintf("%q cannot be the name of a variable", v.Name), "a name is not empty and has no = in it")
		case strings.HasPrefix(v.Name, reserved):
			fail(name, v.Name+" is among the names that primacy sets itself", "choose one that does not begin with "+reserved)
		case seen[v.Name]:
			fail(name, v.Name+" is set twice", "keep one of the two")
		case hasNUL(v.Value):
			fail(value, "has a NUL byte in it", "no variable can have one")
		}
		seen[v.Name] = true
	}
	return errs.OrNil()
}

func hasNUL(s string) bool { return strings.ContainsRune(s, 0) }
