package file

import (
	"embed"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/strict"
	"github.com/primacy-dev/primacy/pkg/strict/schema"
)

// block is the value of `file:`.
type block struct {
	// The absolute path of the file.
	Path string `yaml:"path" strict:"required"`
}

//go:embed kind.go
var comments embed.FS

// Block describes `file:` blocks.
func Block() schema.Block {
	return schema.Block{Value: block{}, Source: schema.Source{comments}, Description: "The first line of a file."}
}

// Kind decodes `file:` blocks.
func Kind() revisions.Decoder {
	return func(node *yaml.Node, env revisions.Env) (election.Preferences, error) {
		var b block
		if err := strict.Decode(node, &b); err != nil {
			return nil, err
		}
		if !filepath.IsAbs(b.Path) || filepath.Clean(b.Path) != b.Path || b.Path == "/" {
			at, _ := strict.Lookup(node, "path")
			return nil, strict.NewError(at, "path", "is no absolute path of a file", "write it from the root, such as /etc/primacy/revision")
		}
		return New(b.Path, env.Log), nil
	}
}
