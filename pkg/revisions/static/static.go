// Package static prefers the revision that the configuration names.
//
//	static: {revision: "1-9-0"}
//
// The package starts no goroutine.
package static

import (
	"context"
	"embed"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/strict"
	"github.com/primacy-dev/primacy/pkg/strict/schema"
)

// Revision is a source that always prefers itself.
type Revision string

var _ election.Preferences = Revision("")

// Watch implements election.Preferences.
func (r Revision) Watch(ctx context.Context, deliver func(election.Preference)) error {
	deliver(record.Prefer(string(r)))
	<-ctx.Done()
	return nil
}

// block is the value of `static:`.
type block struct {
	// The preferred revision.
	Revision string `yaml:"revision" strict:"required"`
}

//go:embed static.go
var comments embed.FS

// Block describes `static:` blocks.
func Block() schema.Block {
	return schema.Block{Value: block{}, Source: schema.Source{comments}, Description: "The revision itself."}
}

// Kind decodes `static:` blocks.
func Kind() revisions.Decoder {
	return func(node *yaml.Node, _ revisions.Env) (election.Preferences, error) {
		var b block
		if err := strict.Decode(node, &b); err != nil {
			return nil, err
		}
		if err := revisions.Check(b.Revision); err != nil {
			at, _ := strict.Lookup(node, "revision")
			return nil, strict.NewError(at, "revision", err.Error(), "leave defaultRevision out if none is preferred")
		}
		return Revision(b.Revision), nil
	}
}
