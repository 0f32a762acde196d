package revisions

import (
	"fmt"
	"slices"
	"strings"

	"go.uber.org/zap"
	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/strict"
	"github.com/primacy-dev/primacy/pkg/strict/schema"
)

// Decoder makes a source from its block in the configuration: for
// `{configMap: {name: revisions, key: default}}` it gets the value of configMap. It decodes
// strictly, and its errors carry the place (strict.Error). It reads nothing else: a source begins
// to work when it is watched.
type Decoder func(node *yaml.Node, env Env) (election.Preferences, error)

// Env is what a Decoder gets besides the block.
type Env struct {
	// Namespace is the namespace of locks and sessions; sources in a cluster read from there.
	Namespace string
	// Log is for the source's messages; nil for none.
	Log *zap.Logger
}

// Defaults returns env with defaults for its nil fields.
func (env Env) Defaults() Env {
	if env.Log == nil {
		env.Log = zap.NewNop()
	}
	return env
}

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

// Register adds a kind. It panics if the name is taken or empty, which is a mistake in the
// program.
func (r *Registry) Register(kind string, d Decoder) {
	switch {
	case kind == "":
		panic("revisions: a kind has no name")
	case d == nil:
		panic(fmt.Sprintf("revisions: kind %q has no decoder", kind))
	case r.kinds[kind] != nil:
		panic(fmt.Sprintf("revisions: kind %q is registered twice", kind))
	}
	r.kinds[kind] = d
}

// Describe says what blocks of a kind may hold, for the reference and the JSON schema. It panics if there is
// no such kind, which is a mistake in the program.
func (r *Registry) Describe(kind string, b schema.Block) {
	if r.kinds[kind] == nil {
		panic(fmt.Sprintf("revisions: kind %q is described and not registered", kind))
	}
	r.blocks[kind] = b
}

// Schemas describes the kinds, sorted by name. A kind that nobody described may hold anything.
func (r *Registry) Schemas() []schema.Property { return schema.Blocks(r.Kinds(), r.blocks) }

// Kinds lists the names of all kinds, sorted.
func (r *Registry) Kinds() []string {
	kinds := make([]string, 0, len(r.kinds))
	for kind := range r.kinds {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

// Decode makes the source of a kind from its block. The error, if any, is a strict.Errors
// whose paths start at the block.
func (r *Registry) Decode(kind string, node *yaml.Node, env Env) (election.Preferences, error) {
	decode := r.kinds[kind]
	if decode == nil {
		hint := "the kinds are: " + strings.Join(r.Kinds(), ", ")
		if near := strict.Nearest(kind, r.Kinds()); near != "" {
			hint = "did you mean " + near + "?"
		}
		return nil, strict.Errors{strict.NewError(node, "", "is not a known kind of revision source", hint)}
	}
	source, err := decode(node, env.Defaults())
	if err != nil {
		return nil, strict.Rebase(err, "", "", node)
	}
	return source, nil
}
