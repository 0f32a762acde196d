//go:build linux

package exec

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/child"
	"github.com/primacy-dev/primacy/pkg/runners/probe"
	"github.com/primacy-dev/primacy/pkg/strict"
	"github.com/primacy-dev/primacy/pkg/strict/schema"
)

// block is the value of `exec:`.
type block struct {
	// The program and its arguments, as a list. There is no shell. A program's name that begins with a slash is used as it stands; any other name with a slash is relative to `dir`; a name without a slash is looked up in Primacy's `PATH`.
	Command []string `yaml:"command" strict:"required" min:"1"`
	// The time between SIGTERM and SIGKILL. At most the election's, of which a fifth, at most 0.5 s, is kept for dying.
	StopGrace time.Duration `yaml:"stopGrace" otherwise:"the election's"`
	// Its working directory.
	Dir string `yaml:"dir" otherwise:"Primacy's own"`
	// Environment variables beside [those that it gets anyway](#the-environment-of-work).
	Env child.Variables `yaml:"env" otherwise:"none"`
	// How much of each of its outputs Primacy logs. After a quiet time ten times as much may come at once.
	Output child.Rate `yaml:"output"`
	// The user that it runs as. Refused where Primacy may not change users.
	User *child.User `yaml:"user" otherwise:"Primacy's own"`
	// What it may use ([more](runners.md#user-and-limits)).
	Limits child.Limits `yaml:"limits" otherwise:"Primacy's own, no core dumps"`
	// How a member learns, before a term, whether the program could work ([more](supervision.md#ready-for-a-term)). It has one of `command`, `file` and `http`.
	Ready probe.Spec `yaml:"ready" otherwise:"the program is always ready"`
}

//go:embed kind.go
var comments embed.FS

// Block describes `exec:` blocks.
func Block() schema.Block {
	return schema.Block{
		Value: block{Output: child.DefaultRate, Ready: probe.Default}, Source: schema.Source{comments, child.Comments(), probe.Comments()}, Description: "A program.",
	}
}

// Kind decodes `exec:` blocks. The probes of all runners that it makes share one probe.Turns.
func Kind() runners.Decoder {
	turns := probe.NewTurns()
	return func(node *yaml.Node, env runners.Env) (election.Runner, error) {
		b := block{StopGrace: env.StopGrace, Output: child.DefaultRate, Ready: probe.Default}
		if err := strict.Decode(node, &b); err != nil {
			return nil, err
		}
		if err := b.check(node, env.StopGrace); err != nil {
			return nil, err
		}
		c := Command{Name: env.Runner, Args: b.Command, Dir: b.Dir, Output: b.Output, StopGrace: b.StopGrace, Clock: env.Clock, Log: env.Log}
		c.Env, c.Confinement = b.Env.List(), child.Confine(b.User, b.Limits)
		c.Ready, c.Turns, c.Election = b.Ready, turns, env.Election
		lacks := env.Defaults().Missing
		child.CheckTree(node, b.User, b.Limits, lacks, env.Defaults().Weaker)
		var missing *StartError
		if _, err := locate(c); errors.As(err, &missing) {
			lacks(missing.in(node))
		}
		if len(b.Ready.Command) > 0 {
			asking := c
			asking.Args = b.Ready.Command
			if _, err := locate(asking); errors.As(err, &missing) && missing.Field == fieldProgram {
				missing.Field = fieldProbe
				lacks(missing.in(node))
			}
		}
		return New(c), nil
	}
}

// check reports values that have the right type but make no sense.
func (b *block) check(node *yaml.Node, stopGrace time.Duration) error {
	var errs strict.Errors
	fail := func(field, problem, hint string) {
		at, _ := strict.Lookup(node, field)
		errs = append(errs, strict.NewError(at, field, problem, hint))
	}
	if len(b.Command) == 0 || b.Command[0] == "" {
		fail("command", "names no program", "give the program and its arguments, such as [./bin/writer, --verbose]")
	}
	if slices.ContainsFunc(b.Command, child.HasNUL) {
		fail("command", "has a NUL byte in it", "no argument of a program can have one")
	}
	if child.HasNUL(b.Dir) {
		fail("dir", "has a NUL byte in it", "no path can have one")
	}
	if b.StopGrace < 0 {
		fail("stopGrace", fmt.Sprintf("%v is negative", b.StopGrace), "leave it out to get the election's")
	}
	if b.StopGrace > stopGrace {
		fail("stopGrace", fmt.Sprintf("%v is longer than the election's stopGrace %v: the program must be dead before that", b.StopGrace, stopGrace),
			"shorten it, or lengthen the election's")
	}
	errs = append(errs, b.Env.Check(node)...)
	errs = append(errs, b.Output.Check(node)...)
	errs = append(errs, child.CheckConfinement(node, b.User, b.Limits)...)
	errs = append(errs, b.Ready.Check(node)...)
	return errs.OrNil()
}
