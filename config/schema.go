package config

import (
	"embed"
	"reflect"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/strict/schema"
)

// comments has the comments that describe the fields of documents. The patterns leave tests out.
//
//go:embed *[^t].go *[^s]t.go
var comments embed.FS

// Kinds are what the registries know, and what a document may thus name.
type Kinds struct {
	// Locks, Policies and Keys are the kinds of lock, the priority policies and the keys of a chain.
	Locks, Policies, Keys []string
	// Sources and Runners are the kinds of source and of runner, with their blocks.
	Sources, Runners []schema.Property
	// Modes and Exits are the words of a runner's mode and onExit, the default first.
	Modes, Exits []string
}

// Schema describes the document. It says what Parse refuses, except for rules about several fields and
// for what only a registry can decide.
func Schema(k Kinds) *schema.Schema {
	o := schema.Options{
		Words: map[string][]string{"profiles": record.Profiles(), "locks": k.Locks, "policies": k.Policies, "keys": k.Keys},
		Forms: map[string]schema.Form{},
		Types: map[reflect.Type]*schema.Schema{
			reflect.TypeFor[runnerDoc](): k.runner(),
			reflect.TypeFor[sourceDoc](): k.source(),
		},
	}
	for name, f := range forms {
		o.Forms[name] = schema.Form{Pattern: f.pattern.String(), Max: f.max}
	}
	return schema.Block{Value: document{}, Source: schema.Source{comments}}.Schema(o)
}

// Schema describes a duration, or the word unbounded.
func (boundDoc) Schema() *schema.Schema {
	return &schema.Schema{
		Called: "duration, or `" + wordUnbounded + "`",
		Either: []*schema.Schema{{Type: "string", Const: wordUnbounded}, schema.MoreThanZero()},
	}
}

// runner describes an entry of `runners`: common keys, and one kind.
func (k Kinds) runner() *schema.Schema {
	name := schema.Property{Name: "name", Required: true, Schema: &schema.Schema{
		Type: "string", Called: "name", Patterns: []string{dnsLabel.pattern.String()}, MaxLength: dnsLabel.max,
		Description: "Its name, unique in the election.",
	}}
	word := func(name, description string, words []string) schema.Property {
		return schema.Property{Name: name, Schema: &schema.Schema{Type: "string", Enum: words, Default: words[0], Description: description}}
	}
	return schema.OneOf([]schema.Property{
		name,
		word("mode", "`leader`: it works during terms. `always`: it works on every member, all the time; only for functions made for that.", k.Modes),
		word("onExit", "What to do if it ends before its term ([supervision.md](supervision.md)).", k.Exits),
	}, k.Runners)
}

// source describes a mapping with one kind, or a revision.
func (k Kinds) source() *schema.Schema {
	revision := schema.Schema{Type: "string", Called: "revision", Patterns: []string{labelValue.pattern.String()}, MaxLength: labelValue.max}
	kinds := make([]schema.Property, len(k.Sources))
	for i, s := range k.Sources {
		if kinds[i] = s; s.Name == kindStatic { // static: REVISION
			kinds[i].Schema = &schema.Schema{Called: "mapping, or a revision", Description: s.Description, Either: []*schema.Schema{&revision, s.Schema}}
		}
	}
	return &schema.Schema{Called: "revision, or a mapping", Either: []*schema.Schema{&revision, schema.OneOf(nil, kinds)}}
}
