package strict

import "go.yaml.in/yaml/v3"

// Secret is text that nobody prints: what is wrong with it is said without it.
type Secret string

// DecodeStrict takes what a string takes.
func (s *Secret) DecodeStrict(node *yaml.Node) error {
	if problem, _ := notText(node); problem != "" {
		return NewError(node, "", "want text; what stands here is not shown", "write it in quotes")
	}
	*s = Secret(node.Value)
	return nil
}
