package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/strict"
)

// setting is a value from outside the document.
type setting struct {
	value  string
	source string // such as "flag --revision"
}

// overrides are settings by the path of the field that they replace.
type overrides map[string]setting

// sources tells where a field's value came from, if not from the document.
type sources map[string]string

// Paths of the fields that flags and environment can replace.
const (
	fieldGroup     = "group"
	fieldNamespace = "namespace"
	fieldRevision  = "member.revision"
	fieldLocation  = "member.location"
)

func (o overrides) apply(doc *document) sources {
	from := make(sources, len(o))
	for field, s := range o {
		switch field {
		case fieldGroup:
			doc.Group = s.value
		case fieldNamespace:
			doc.Namespace = s.value
		case fieldRevision:
			doc.Member.Revision = s.value
		case fieldLocation:
			doc.Member.Location = s.value
		default:
			panic(fmt.Sprintf("config: no field %s can be replaced", field))
		}
		from[field] = s.source
	}
	return from
}

// ErrorAt makes an error about a field, for checks that only the caller can make. The error's
// place is the node. If node is nil, the place is the field in the document, or the block around
// it if the document lacks the field.
func (c *Configuration) ErrorAt(node *yaml.Node, field, problem, hint string) error {
	return c.errorAt(node, field, problem, hint)
}

func (c *Configuration) errorAt(node *yaml.Node, field, problem, hint string) *strict.Error {
	if source := c.sources[field]; source != "" {
		return &strict.Error{File: source, Field: field, Problem: problem, Hint: hint}
	}
	if node == nil {
		node, _ = strict.Lookup(c.root, field)
	}
	e := strict.NewError(node, field, problem, hint)
	e.File = c.File
	return e
}

// Within takes an error from decoding a block and adds file, line and the
// whole path. A nil error stays nil.
func (c *Configuration) Within(b Block, err error) error {
	return strict.Rebase(err, c.File, b.Field, b.Node)
}
