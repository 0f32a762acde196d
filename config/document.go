package config

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/strict"
)

// document is the schema of the file.
type document struct {
	APIVersion      string         `yaml:"apiVersion" strict:"required"`
	Kind            string         `yaml:"kind" strict:"required"`
	Group           string         `yaml:"group"`
	Namespace       string         `yaml:"namespace"`
	Member          memberDoc      `yaml:"member"`
	DefaultRevision *sourceDoc     `yaml:"defaultRevision"`
	Timing          timingDoc      `yaml:"timing"`
	Metrics         *metricsDoc    `yaml:"metrics"`
	Elections       []*electionDoc `yaml:"elections" strict:"required"`
}

type memberDoc struct {
	Revision string `yaml:"revision"`
	Location string `yaml:"location"`
	Weight   int    `yaml:"weight"`
	// Proofs is left out of the canonical form if empty.
	Proofs []string `yaml:"proofs,omitempty"`
}

type timingDoc struct {
	Profile       string         `yaml:"profile"`
	LeaseDuration *time.Duration `yaml:"leaseDuration"`
	RenewInterval *time.Duration `yaml:"renewInterval"`
	StopGrace     *time.Duration `yaml:"stopGrace"`
	NominateDelay *time.Duration `yaml:"nominateDelay"`
	PreemptDelay  *time.Duration `yaml:"preemptDelay"`
	MinHold       *time.Duration `yaml:"minHold"`
	StandDown     *time.Duration `yaml:"standDown"`
	Drift         *float64       `yaml:"drift"`
}

type electionDoc struct {
	Name  string `yaml:"name" strict:"required"`
	Scope string `yaml:"scope"`
	// Enabled is nil if absent, which means true.
	Enabled   *bool       `yaml:"enabled"`
	Lock      lockDoc     `yaml:"lock"`
	Priority  priorityDoc `yaml:"priority"`
	Timing    timingDoc   `yaml:"timing"`
	Bootstrap string      `yaml:"bootstrap"`
	Range     bool        `yaml:"range"`
	Outage    string      `yaml:"outage"`
	// FailopenFor is nil if absent.
	FailopenFor *boundDoc   `yaml:"failopenFor"`
	Runners     []runnerDoc `yaml:"runners"`
}

type lockDoc struct {
	Kind    string `yaml:"kind"`
	Name    string `yaml:"name"`
	Renewal string `yaml:"renewal"`
	// SharedWith and Foreign are left out of the canonical form if empty.
	SharedWith string      `yaml:"sharedWith,omitempty"`
	Foreign    *foreignDoc `yaml:"foreign,omitempty"`
	// MigrateFrom is left out of the canonical form if empty.
	MigrateFrom *migrationDoc `yaml:"migrateFrom,omitempty"`
}

type migrationDoc struct {
	Kind string `yaml:"kind"`
	Name string `yaml:"name"`
}

type foreignDoc struct {
	RenewDeadline time.Duration `yaml:"renewDeadline"`
	RetryPeriod   time.Duration `yaml:"retryPeriod"`
}

type priorityDoc struct {
	Policy       string         `yaml:"policy"`
	Chain        []string       `yaml:"chain"`
	PreemptDelay *time.Duration `yaml:"preemptDelay"`
	MinHold      *time.Duration `yaml:"minHold"`
}

// runnerDoc is the entry of a runner: its name, and a block under the key of its kind.
type runnerDoc struct {
	name   string
	mode   string
	onExit string
	kind   string
	node   *yaml.Node
	entry  *yaml.Node
}

// DecodeStrict separates the name and other common keys from the block of the kind.
func (r *runnerDoc) DecodeStrict(node *yaml.Node) error {
	var fields map[string]*yaml.Node
	if err := strict.Decode(node, &fields); err != nil {
		return err
	}
	var errs strict.Errors
	if name, given := fields["name"]; !given {
		errs = append(errs, strict.NewError(node, "name", "is missing", "add name: ..."))
	} else if err := strict.Decode(name, &r.name); err != nil {
		errs = append(errs, within(err, "name", name)...)
	}
	delete(fields, "name")
	text := func(field string, into *string) {
		if node, given := fields[field]; given {
			if err := strict.Decode(node, into); err != nil {
				errs = append(errs, within(err, field, node)...)
			}
		}
		delete(fields, field)
	}
	text("mode", &r.mode)
	text("onExit", &r.onExit)
	kind, block, err := oneKind(node, fields, "exec: {...}", "make each a runner of its own")
	if err != nil {
		errs = append(errs, err)
	}
	r.kind, r.node, r.entry = kind, block, node
	return errs.OrNil()
}

// sourceDoc is a mapping with one key, the kind of the source, or just a revision.
type sourceDoc struct {
	kind string
	node *yaml.Node
}

// kindStatic is the kind of source that a document means by a plain revision.
const kindStatic = "static"

// DecodeStrict reads {kind: block}. A plain revision means {static: {revision: REVISION}}, as
// does {static: REVISION}.
func (s *sourceDoc) DecodeStrict(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return s.static(node)
	}
	var fields map[string]*yaml.Node
	if err := strict.Decode(node, &fields); err != nil {
		return err
	}
	kind, block, err := oneKind(node, fields, `static: {revision: "1-9-0"}`, "keep the one that applies")
	if err != nil {
		return err
	}
	if kind == kindStatic && block.Kind == yaml.ScalarNode {
		return strict.Rebase(s.static(block), "", kindStatic, block)
	}
	s.kind, s.node = kind, block
	return nil
}

func (s *sourceDoc) static(revision *yaml.Node) error {
	var text string
	if err := strict.Decode(revision, &text); err != nil {
		return err
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "revision", Line: revision.Line, Column: revision.Column}
	s.kind = kindStatic
	s.node = &yaml.Node{
		Kind: yaml.MappingNode, Tag: "!!map", Line: revision.Line, Column: revision.Column,
		Content: []*yaml.Node{key, revision},
	}
	return nil
}

// oneKind finds the only key of a block.
func oneKind(at *yaml.Node, fields map[string]*yaml.Node, example, several string) (string, *yaml.Node, *strict.Error) {
	kinds := make([]string, 0, len(fields))
	for kind := range fields {
		kinds = append(kinds, kind)
	}
	sort.Strings(kinds)
	switch len(kinds) {
	case 0:
		return "", nil, strict.NewError(at, "", "has no kind", "add one, such as "+example)
	case 1:
		return kinds[0], fields[kinds[0]], nil
	}
	const shown = 5
	list := strings.Join(kinds[:min(len(kinds), shown)], ", ")
	return "", nil, strict.NewError(at, "", fmt.Sprintf("want one kind, got %d: %.200q", len(kinds), list), several)
}

// within puts the block's path before the fields that errors name.
func within(err error, path string, block *yaml.Node) strict.Errors {
	errs, _ := strict.Rebase(err, "", path, block).(strict.Errors)
	return errs
}
