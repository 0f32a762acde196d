package config

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/primacy-dev/primacy/pkg/election/record"

	"go.yaml.in/yaml/v3"
)

// Canonical is the configuration as a document with every default written out. Parse makes
// the same configuration of it. Comments, line numbers and quotes of the original do not affect the text.
func (c *Configuration) Canonical() string {
	out := struct {
		APIVersion      string                `yaml:"apiVersion"`
		Kind            string                `yaml:"kind"`
		Group           string                `yaml:"group"`
		Namespace       string                `yaml:"namespace,omitempty"`
		Member          memberDoc             `yaml:"member"`
		DefaultRevision map[string]*yaml.Node `yaml:"defaultRevision,omitempty"`
		Timing          map[string]any        `yaml:"timing"`
		HTTP            *httpDoc              `yaml:"http,omitempty"`
		Elections       []canonicalElection   `yaml:"elections"`
	}{
		APIVersion: APIVersion, Kind: Kind, Group: c.Group, Namespace: c.Namespace,
		Member: c.Member.canonical(),
		Timing: map[string]any{"drift": c.Timing.Drift}, HTTP: c.HTTP.canonical(),
	}
	if s := c.DefaultRevision; s != nil {
		out.DefaultRevision = map[string]*yaml.Node{s.Kind: plain(s.Node)}
	}
	for _, f := range durationsOf(c.Timing) {
		out.Timing[f.name] = f.value
	}
	out.Elections = make([]canonicalElection, len(c.Elections))
	for i, e := range c.Elections {
		out.Elections[i] = e.canonical(c.Namespace)
	}
	text, err := yaml.Marshal(out)
	if err != nil {
		panic(fmt.Sprintf("config: encode a valid configuration: %v", err))
	}
	return string(text)
}

type canonicalElection struct {
	Name      string         `yaml:"name"`
	Scope     string         `yaml:"scope,omitempty"`
	Enabled   *bool          `yaml:"enabled,omitempty"`
	Lock      lockDoc        `yaml:"lock"`
	Priority  map[string]any `yaml:"priority"`
	Timing    map[string]any `yaml:"timing"`
	Bootstrap string         `yaml:"bootstrap"`
	// Range, Outage, FailopenFor, OnDeath and LeaderLabel are left out at their defaults.
	Range       bool              `yaml:"range,omitempty"`
	Outage      string            `yaml:"outage,omitempty"`
	FailopenFor string            `yaml:"failopenFor,omitempty"`
	OnDeath     string            `yaml:"onDeath,omitempty"`
	LeaderLabel bool              `yaml:"leaderLabel,omitempty"`
	Runners     []canonicalRunner `yaml:"runners"`
}

type canonicalRunner struct {
	Name   string                `yaml:"name"`
	Mode   string                `yaml:"mode,omitempty"`
	OnExit string                `yaml:"onExit,omitempty"`
	Kind   map[string]*yaml.Node `yaml:",inline"`
}

func (m Member) canonical() memberDoc {
	doc := memberDoc{Revision: m.Revision, Location: string(m.Location), Weight: m.Weight, RemoveSessions: m.RemoveSessions}
	for _, p := range m.Proofs {
		doc.Proofs = append(doc.Proofs, string(p))
	}
	return doc
}

// canonical writes the lock; sessions is the namespace of the sessions.
func (l Lock) canonical(sessions string) lockDoc {
	doc := lockDoc{Kind: l.Kind, Name: l.Name, Namespace: l.Namespace, SharedWith: string(l.SharedWith)}
	if l.Renewal != record.RenewalUnlessForeign {
		doc.Renewal = string(l.Renewal)
	}
	if l.Foreign != (ForeignTimings{}) {
		doc.Foreign = &foreignDoc{l.Foreign.RenewDeadline, l.Foreign.RetryPeriod}
	}
	if l.MigrateFrom != nil {
		doc.MigrateFrom = &migrationDoc{Kind: l.MigrateFrom.Kind, Name: l.MigrateFrom.Name}
		if l.MigrateFrom.Namespace != l.Namespace {
			doc.MigrateFrom.Namespace = cmp.Or(l.MigrateFrom.Namespace, sessions)
		}
	}
	return doc
}

func (e Election) canonical(sessions string) canonicalElection {
	out := canonicalElection{
		Name:      e.Name,
		Lock:      e.Lock.canonical(sessions),
		Priority:  map[string]any{"policy": string(e.Policy)},
		Timing:    make(map[string]any),
		Bootstrap: string(e.Bootstrap),
		Runners:   make([]canonicalRunner, len(e.Runners)),
	}
	if e.Suffix != "" {
		out.Name, out.Scope = strings.TrimSuffix(out.Name, e.Suffix), string(ScopeRevision)
		out.Lock.Name = strings.TrimSuffix(out.Lock.Name, e.Suffix)
	}
	if e.Disabled {
		out.Enabled = new(bool)
	}
	if e.Chain != nil {
		out.Priority = map[string]any{"chain": e.Chain}
	}
	for _, f := range durationsOf(e.Timing) {
		out.Timing[f.name] = f.value
	}
	out.Range, out.LeaderLabel = e.Range, e.LeaderLabel
	if e.OnDeath != OnDeathProof {
		out.OnDeath = string(e.OnDeath)
	}
	if e.Outage == OutageFailopen {
		out.Outage, out.FailopenFor = string(e.Outage), e.FailopenFor.String()
		if e.FailopenFor == Unbounded {
			out.FailopenFor = wordUnbounded
		}
	}
	for i, r := range e.Runners {
		out.Runners[i] = canonicalRunner{r.Name, r.Mode, r.OnExit, map[string]*yaml.Node{r.Kind: plain(r.Node)}}
	}
	return out
}

// plain copies a block without comments, line numbers and choice of quotes.
func plain(node *yaml.Node) *yaml.Node {
	out := &yaml.Node{Kind: node.Kind, Tag: node.Tag, Value: node.Value}
	switch node.Tag {
	case "!!null":
		out.Value = "null"
	case "!!str":
		out.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range node.Content {
		out.Content = append(out.Content, plain(child))
	}
	return out
}
