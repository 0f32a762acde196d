package webhook

import (
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// block is the value of `webhook:`.
type block struct {
	Name  string `yaml:"name"`
	Label string `yaml:"label"`
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
