package strict

import "go.yaml.in/yaml/v3"

// Secret is text that must not be printed: errors about it don't contain it.
type Secret string

// DecodeStrict accepts what is accepted for a string.
func (s *Secret) DecodeStrict(node *yaml.Node) error {
	if problem, _ := notText(node); problem != "" {
		return NewError(node, "", "want text; what stands here is not shown", "write it in quotes")
	}
	*s = Secret(node.Value)
	return nil
}
