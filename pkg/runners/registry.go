package runners

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/strict"
	"github.com/primacy-dev/primacy/pkg/strict/schema"
)

// Registry is the table of the kinds. Fill it before you use it: any goroutine may read it, but
// Register must not run at the same time.
type Registry struct {
	kinds  map[string]Decoder
	blocks map[string]schema.Block
}

// NewRegistry makes an empty registry.
func NewRegistry() *Registry {
	return &Registry{kinds: map[string]Decoder{}, blocks: map[string]schema.Block{}}
}

// The keys of a runner's block that name no kind.
const (
	nameKey   = "name"
	modeKey   = "mode"
	onExitKey = "onExit"
)

// Modes say when a runner works.
const (
	// ModeLeader: during the terms of its member. It is the default.
	ModeLeader = "leader"
	// ModeAlways: all the time, on every member; the runner learns of each term (Always).
	ModeAlways = "always"
)

// Register adds a kind. It panics if the name is taken, empty or reserved, which is a mistake
// in the program.
func (r *Registry) Register(kind string, d Decoder) {
	switch {
	case kind == "" || kind == nameKey || kind == modeKey || kind == onExitKey:
		panic(fmt.Sprintf("runners: a kind cannot be called %q", kind))
	case d == nil:
		panic(fmt.Sprintf("runners: kind %q has no decoder", kind))
	case r.kinds[kind] != nil:
		panic(fmt.Sprintf("runners: kind %q is registered twice", kind))
	}
	r.kinds[kind] = d
}

// Describe says what blocks of a kind may hold, for the reference and the JSON schema. It panics if there is
// no such kind, which is a mistake in the program.
func (r *Registry) Describe(kind string, b schema.Block) {
	if r.kinds[kind] == nil {
		panic(fmt.Sprintf("runners: kind %q is described and not registered", kind))
	}
	r.blocks[kind] = b
}

// Schemas describes the kinds, sorted by name. A kind that nobody described may hold anything.
func (r *Registry) Schemas() []schema.Property { return schema.Blocks(r.Kinds(), r.blocks) }

// Modes lists the words of mode, the default first.
func Modes() []string { return []string{ModeLeader, ModeAlways} }

// Exits lists the words of onExit, the default first.
func Exits() []string { return []string{string(ExitRestart), string(ExitRelease), string(ExitStop)} }

// Kinds lists the names of all kinds, sorted.
func (r *Registry) Kinds() []string {
	kinds := make([]string, 0, len(r.kinds))
	for kind := range r.kinds {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

// Decode makes the runner of one block of `runners:`, such as
//
//	name: writer
//	exec: {command: [./bin/writer], stopGrace: 5s}
//
// which has a name, exactly one kind, and optionally a mode and an onExit. The error, if any, is a
// strict.Errors whose paths start at the block.
func (r *Registry) Decode(node *yaml.Node, env Env) (Child, error) {
	name, kind, block, err := r.split(node)
	if err != nil {
		return Child{}, err
	}
	mode, at, err := word(node, modeKey, ModeLeader, ModeAlways)
	if err != nil {
		return Child{}, err
	}
	onExit, exitAt, err := word(node, onExitKey, ExitRestart, ExitRelease, ExitStop)
	if err != nil {
		return Child{}, err
	}
	env = env.Defaults()
	env.Runner = name
	missing, weaker := env.Missing, env.Weaker
	env.Missing = func(err error) { missing(strict.Rebase(err, "", kind, block)) }
	env.Weaker = func(err error) { weaker(strict.Rebase(err, "", kind, block)) }
	if later := env.Later; later != nil {
		env.Later = func(p Probe) {
			later(func(ctx context.Context) error { return strict.Rebase(p(ctx), "", kind, block) })
		}
	}
	runner, err := r.kinds[kind](block, env)
	if err != nil {
		return Child{}, strict.Rebase(err, "", kind, block)
	}
	switch _, always := runner.(election.Background); {
	case mode == ModeAlways && !always:
		return Child{}, strict.NewError(at, modeKey, "this "+kind+" works during terms only", "leave mode out; functions that are made for it can always run")
	case mode == ModeLeader && always:
		return Child{}, strict.NewError(node, modeKey, "this "+kind+" always runs", "write mode: always")
	case always && onExit != ExitRestart:
		return Child{}, strict.NewError(exitAt, onExitKey, "a runner that always runs is always started again", "leave onExit out")
	}
	return Child{Name: name, Kind: kind, Runner: runner, OnExit: onExit}, nil
}

// word reads one of the known words; the first is the default.
func word[W ~string](node *yaml.Node, key string, known ...W) (W, *yaml.Node, error) {
	at, given := strict.Lookup(node, key)
	if !given {
		return known[0], node, nil
	}
	var text string
	if err := strict.Decode(at, &text); err != nil {
		return "", nil, strict.Rebase(err, "", key, at)
	}
	if !slices.Contains(known, W(text)) {
		words := make([]string, len(known))
		for i, w := range known {
			words[i] = string(w)
		}
		hint := "the default is " + words[0]
		if near := strict.Nearest(text, words); near != "" {
			hint = "did you mean " + near + "?"
		}
		return "", nil, strict.NewError(at, key, fmt.Sprintf("want %s, got %q", strings.Join(words, " or "), text), hint)
	}
	return W(text), at, nil
}

// split splits a runner's block into its name and its kind's block.
func (r *Registry) split(node *yaml.Node) (name, kind string, block *yaml.Node, err error) {
	var fields map[string]*yaml.Node
	if err := strict.Decode(node, &fields); err != nil {
		return "", "", nil, err
	}
	if node.Kind == yaml.DocumentNode {
		node = node.Content[0]
	}
	var errs strict.Errors
	fail := func(at *yaml.Node, field, problem, hint string) {
		errs = append(errs, strict.NewError(at, field, problem, hint))
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		switch {
		case key.Value == nameKey:
			if err := strict.Decode(value, &name); err != nil {
				return "", "", nil, strict.Rebase(err, "", nameKey, value)
			}
			if name == "" {
				fail(value, nameKey, "is empty", "every runner of an election has a name of its own")
			}
		case key.Value == modeKey, key.Value == onExitKey:
		case r.kinds[key.Value] == nil:
			fail(key, key.Value, "is no kind of runner", r.hint(key.Value))
		case kind != "":
			fail(key, key.Value, "is a second kind beside "+kind, "a runner has one kind: make two runners of it")
		default:
			kind, block = key.Value, value
		}
	}
	switch {
	case fields[nameKey] == nil:
		fail(node, nameKey, "is missing", "every runner of an election has a name of its own")
	case kind == "" && len(errs) == 0:
		fail(node, "", "the runner has no kind", r.known())
	}
	return name, kind, block, errs.OrNil()
}

// hint suggests what an unknown kind may have meant.
func (r *Registry) hint(kind string) string {
	if near := strict.Nearest(kind, r.Kinds()); near != "" {
		return "did you mean " + near + "?"
	}
	if kind == "plugin" {
		return "plugins are run by the program primacy-plugins; " + r.known()
	}
	return r.known()
}

func (r *Registry) known() string { return "the kinds are: " + strings.Join(r.Kinds(), ", ") }
