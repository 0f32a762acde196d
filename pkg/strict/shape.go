package strict

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// maxShown bounds how much of a document's text an error repeats.
const maxShown = 64

// show quotes a value for people.
func show(s string) string { return strconv.Quote(cut(s)) }

// bare shows a value as it was written, if that is harmless.
func bare(s string) string {
	q := show(s)
	if inner := q[1 : len(q)-1]; inner == s && s != "" {
		return s
	}
	return q
}

func cut(s string) string {
	if runes := []rune(s); len(runes) > maxShown {
		return string(runes[:maxShown]) + "..."
	}
	return s
}

func quoted(node *yaml.Node) bool {
	const styles = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return node.Kind == yaml.ScalarNode && node.Style&styles != 0
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.Tag == "!!null" && !quoted(node)
}

func nullProblem(node *yaml.Node) string {
	if node.Value == "" {
		return "has no value"
	}
	return "must not be null"
}

func (d *decoder) wants(node *yaml.Node, kind yaml.Kind, path string) bool {
	if node.Kind == kind {
		return true
	}
	want, hint := "a single value", ""
	switch kind {
	case yaml.MappingNode:
		want, hint = "a mapping", "write fields as name: value"
	case yaml.SequenceNode:
		want, hint = "a list", `write [a, b], or an entry a line, each after "- "`
	}
	d.fail(node, path, hint, "want %s, got %s", want, describe(node))
	return false
}

func describe(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	return show(node.Value)
}

// maxDepth bounds how deep a document nests.
const maxDepth = 100

// refuseReferences refuses anchors, aliases and tags. It never follows an alias, so its time is
// linear in the document's size.
func (d *decoder) refuseReferences(node *yaml.Node, path string, depth int) {
	switch {
	case depth > maxDepth:
		d.fail(node, "", "", "nested deeper than %d blocks", maxDepth)
		return
	case node.Kind == yaml.AliasNode:
		d.fail(node, path, "write the value out", "aliases (*%s) are not supported", cut(node.Value))
		return
	case node.Anchor != "":
		d.fail(node, path, "leave the anchor out", "anchors (&%s) are not supported", cut(node.Anchor))
	case node.Tag == "!!merge":
		d.fail(node, path, "write the fields out", "merge keys (<<) are not supported")
	case node.Style&yaml.TaggedStyle != 0:
		d.fail(node, path, "leave the tag out; quote what is text", "tags (%s) are not supported", cut(node.Tag))
	}
	switch node.Kind {
	case yaml.SequenceNode:
		for i, entry := range node.Content {
			d.refuseReferences(entry, path+"["+strconv.Itoa(i)+"]", depth+1)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			d.refuseReferences(key, path, depth+1)
			d.refuseReferences(value, joinKey(path, key.Value), depth+1)
		}
	}
}
