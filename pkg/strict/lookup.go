package strict

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Lookup finds the value of a field, by a path such as errors show. If the document lacks the field,
// it returns the nearest block around the field, and false.
func Lookup(node *yaml.Node, path string) (*yaml.Node, bool) {
	if node != nil && node.Kind == yaml.DocumentNode && len(node.Content) == 1 {
		node = node.Content[0]
	}
	if node == nil {
		return nil, false
	}
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		next := child(node, step)
		if next == nil {
			return node, false
		}
		node = next
	}
	return node, true
}

func child(node *yaml.Node, step string) *yaml.Node {
	switch node.Kind {
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i]
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i+1]
			}
		}
	}
	return nil
}
