package file

import (
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// Kind decodes `file:` blocks.
func Kind() revisions.Decoder {
	return func(node *yaml.Node, env revisions.Env) (election.Preferences, error) {
		var b struct {
			Path string `yaml:"path" strict:"required"`
		}
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
