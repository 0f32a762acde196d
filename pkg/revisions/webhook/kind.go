package webhook

import (
	"embed"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/strict"
	"github.com/primacy-dev/primacy/pkg/strict/schema"
)

// block is the value of `webhook:`.
type block struct {
	// The configuration's name.
	Name string `yaml:"name"`
	// The label whose value is the revision.
	Label string `yaml:"label"`
}

//go:embed kind.go
var comments embed.FS

// Block describes `webhook:` blocks.
func Block() schema.Block {
	return schema.Block{Value: block(Istio), Source: schema.Source{comments}, Description: "A label of a MutatingWebhookConfiguration, as Istio has it."}
}

// Kind decodes `webhook:` blocks. Only sources that are watched use the client: for decoding alone it
// may be nil.
func Kind(client admissionclient.MutatingWebhookConfigurationsGetter) revisions.Decoder {
	return func(node *yaml.Node, env revisions.Env) (election.Preferences, error) {
		b := block(Istio)
		if err := strict.Decode(node, &b); err != nil {
			return nil, err
		}
		if err := b.check(node); err != nil {
			return nil, err
		}
		return New(client, Label(b), env.Log), nil
	}
}

func (b block) check(node *yaml.Node) error {
	var errs strict.Errors
	fail := func(field, of string, problems []string) {
		if len(problems) > 0 {
			at, _ := strict.Lookup(node, field)
			errs = append(errs, strict.NewError(at, field, "no "+of+" can have it: "+problems[0], "leave it out for Istio's"))
		}
	}
	fail("name", "MutatingWebhookConfiguration", validation.IsDNS1123Subdomain(b.Name))
	fail("label", "label", validation.IsQualifiedName(b.Label))
	return errs.OrNil()
}
