// Package funcs runs functions that are compiled into the program as the work of an
// election.
//
//	table := funcs.NewTable()
//	table.Register("ingress.sync", syncIngress)
//	reg.Register("func", table.Kind())
//
// and in the configuration, with the function's parameters beside its name:
//
//	func: {kind: demo.heartbeat, interval: 5s}
//
// The package starts no goroutine. A function must return soon after its context is
// cancelled: nothing can kill it.
package funcs

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/strict"
	"github.com/primacy-dev/primacy/pkg/strict/schema"
)

// Factory makes a runner from a function's parameters. The parameters are a mapping, empty if there
// are none; the Factory decodes it strictly.
type Factory func(params *yaml.Node, env runners.Env) (election.Runner, error)

// Table is the table of functions. Fill it before you use it: any goroutine may read it, but
// registering must not happen at the same time.
type Table struct {
	factories map[string]Factory
}

// NewTable makes an empty table.
func NewTable() *Table { return &Table{factories: map[string]Factory{}} }

// Register adds a function without parameters. It panics if the name is taken or empty, which
// is a mistake in the program.
func (t *Table) Register(name string, fn election.RunnerFunc) {
	if fn == nil {
		panic(fmt.Sprintf("funcs: %q is nil", name))
	}
	t.RegisterFactory(name, func(params *yaml.Node, _ runners.Env) (election.Runner, error) {
		return fn, strict.Decode(params, &struct{}{})
	})
}

// RegisterReady adds a function without parameters that can tell whether it could work; see
// runners.Asked. It panics as Register does.
func (t *Table) RegisterReady(name string, fn election.RunnerFunc, ready runners.ReadyFunc) {
	if fn == nil || ready == nil {
		panic(fmt.Sprintf("funcs: %q is nil", name))
	}
	t.RegisterFactory(name, func(params *yaml.Node, _ runners.Env) (election.Runner, error) {
		return runners.Asked(fn, ready), strict.Decode(params, &struct{}{})
	})
}

// RegisterAlways adds a function without parameters that runs on every member, for runners
// with `mode: always`. It panics as Register does.
func (t *Table) RegisterAlways(name string, fn election.AlwaysFunc) {
	if fn == nil {
		panic(fmt.Sprintf("funcs: %q is nil", name))
	}
	t.RegisterFactory(name, func(params *yaml.Node, env runners.Env) (election.Runner, error) {
		return runners.Always(env.Runner, fn, runners.Supervision{Clock: env.Clock, Log: env.Log}), strict.Decode(params, &struct{}{})
	})
}

// RegisterFactory adds a function with parameters. It panics as Register does.
func (t *Table) RegisterFactory(name string, f Factory) {
	switch {
	case name == "":
		panic("funcs: a function has no name")
	case f == nil:
		panic(fmt.Sprintf("funcs: %q is nil", name))
	case t.factories[name] != nil:
		panic(fmt.Sprintf("funcs: %q is registered twice", name))
	}
	t.factories[name] = f
}

// Names lists the functions, sorted.
func (t *Table) Names() []string {
	names := make([]string, 0, len(t.factories))
	for name := range t.factories {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// kindKey is the field that names the function.
const kindKey = "kind"

// Block describes `func:` blocks: the function's name, and keys of its own.
func (t *Table) Block() schema.Block {
	return schema.Block{Value: block{t}, Description: "A function that is compiled into the program."}
}

type block struct{ table *Table }

// Schema implements schema.Described.
func (b block) Schema() *schema.Schema {
	return &schema.Schema{Type: "object", Open: true, Properties: []schema.Property{{Name: kindKey, Required: true, Schema: &schema.Schema{
		Type: "string", Enum: b.table.Names(), Description: "The function's name. The function's own keys stand beside it.",
	}}}}
}

// Kind decodes `func:` blocks.
func (t *Table) Kind() runners.Decoder {
	return func(node *yaml.Node, env runners.Env) (election.Runner, error) {
		var fields map[string]*yaml.Node
		if err := strict.Decode(node, &fields); err != nil {
			return nil, err
		}
		at := fields[kindKey]
		if at == nil {
			return nil, strict.NewError(node, kindKey, "is missing", t.known())
		}
		var name string
		if err := strict.Decode(at, &name); err != nil {
			return nil, strict.Rebase(err, "", kindKey, at)
		}
		factory := t.factories[name]
		if factory == nil {
			return nil, strict.NewError(at, kindKey, fmt.Sprintf("there is no function %q", name), t.known())
		}
		return factory(params(node), env.Defaults())
	}
}

// params returns the block without the function's name.
func params(node *yaml.Node) *yaml.Node {
	p := *node
	p.Content = nil
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value != kindKey {
			p.Content = append(p.Content, node.Content[i], node.Content[i+1])
		}
	}
	return &p
}

func (t *Table) known() string { return "the functions are: " + strings.Join(t.Names(), ", ") }
