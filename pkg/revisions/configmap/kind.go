package configmap

import (
	"embed"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/strict"
	"github.com/primacy-dev/primacy/pkg/strict/schema"
)

// block is the value of `configMap:`.
type block struct {
	// The ConfigMap's name.
	Name string `yaml:"name" strict:"required"`
	// The key whose value is the revision.
	Key string `yaml:"key" strict:"required"`
}

//go:embed kind.go
var comments embed.FS

// Block describes `configMap:` blocks.
func Block() schema.Block {
	return schema.Block{Value: block{}, Source: schema.Source{comments}, Description: "A key of a ConfigMap in the namespace of the locks."}
}

// Kind decodes `configMap:` blocks. Only sources that are watched use the client: for decoding alone
// it may be nil.
func Kind(client coreclient.ConfigMapsGetter) revisions.Decoder {
	return func(node *yaml.Node, env revisions.Env) (election.Preferences, error) {
		key, err := KeyIn(node, env.Namespace)
		if err != nil {
			return nil, err
		}
		return New(client, key, env.Log), nil
	}
}

// KeyIn returns the key that a block names, in the given namespace. The error, if any, is a
// strict.Errors with paths that start at the block.
func KeyIn(node *yaml.Node, namespace string) (Key, error) {
	var b block
	if err := strict.Decode(node, &b); err != nil {
		return Key{}, err
	}
	if err := b.check(node); err != nil {
		return Key{}, err
	}
	return Key{Namespace: namespace, Name: b.Name, Key: b.Key}, nil
}

func (b block) check(node *yaml.Node) error {
	var errs strict.Errors
	fail := func(field string, problems []string) {
		if len(problems) > 0 {
			at, _ := strict.Lookup(node, field)
			errs = append(errs, strict.NewError(at, field, "no ConfigMap can have it: "+problems[0], ""))
		}
	}
	fail("name", validation.IsDNS1123Subdomain(b.Name))
	fail("key", validation.IsConfigMapKey(b.Key))
	return errs.OrNil()
}
