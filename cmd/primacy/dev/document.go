package dev

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/config/examples"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/priority"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// document is the configuration that all members share.
type document struct {
	// path is the file that members get and follow.
	path string
	*config.Configuration
}

// exampleName is the example's name in the folder of a run.
const exampleName = "primacy.yaml"

// openDocument checks the configuration at path; if path is empty, it writes the example into
// the folder first.
func openDocument(path string, dir *folder, check func(*config.Configuration) error) (*document, error) {
	if path == "" {
		path = dir.file(exampleName)
		if err := os.WriteFile(path, examples.Dev, 0o600); err != nil {
			return nil, fmt.Errorf("example configuration: %w", err)
		}
	}
	c, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	if err := check(c); err != nil {
		return nil, err
	}
	if c.HTTP.Served() && c.HTTP.Port() != 0 {
		return nil, c.ErrorAt(nil, "http.address", fmt.Sprintf("%v is for one member, and all of them run on this machine", c.HTTP.Address), "write 127.0.0.1:0, for any free port")
	}
	if elsewhere := c.Namespaces(); len(elsewhere) > 0 {
		return nil, fmt.Errorf("%s: there are locks in namespace %s, and a cluster on this machine has one namespace (leave lock.namespace out here)", path, strings.Join(elsewhere, ", "))
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return &document{path: path, Configuration: c}, nil
}

// expected are the elections that should exist.
func (d *document) expected() []status.Expected {
	all := make([]status.Expected, 0, len(d.Elections))
	for _, e := range d.Elections {
		if e.Disabled {
			continue
		}
		expected := status.Expected{Election: e.Name, Lock: e.Lock.Name, Kind: status.Kind(e.Lock.Kind)}
		if from := e.Lock.MigrateFrom; from != nil {
			expected.MigrateFrom = status.Ref{Kind: status.Kind(from.Kind), Name: from.Name}
		}
		all = append(all, expected)
	}
	return all
}

// policies are the priority policies of elections.
func (d *document) policies() map[string]priority.Policy {
	all := make(map[string]priority.Policy, len(d.Elections))
	for _, e := range d.Elections {
		policy, _ := priority.Parse(string(e.Policy)) // checked before, and so was the chain
		if e.Chain != nil {
			policy, _ = priority.ParseChain(e.Chain)
		}
		if e.Suffix != "" {
			policy = priority.Within(d.Member.Revision, policy)
		}
		all[e.Name] = policy
	}
	return all
}

// revisionKey is the ConfigMap key that holds the default revision.
type revisionKey struct {
	Name string `yaml:"name"`
	Key  string `yaml:"key"`
}

// plan names the revisions of a run, and the place of the default revision.
type plan struct {
	stable, canary string
	// key is nil if the default revision is not in a ConfigMap.
	key *revisionKey
}

// plan reads the revisions from the document.
func (d *document) plan() (plan, error) {
	p := plan{stable: d.Member.Revision, canary: "canary"}
	if b := d.DefaultRevision; b != nil {
		var err error
		switch b.Kind {
		case "configMap":
			p.key = &revisionKey{}
			err = strict.Decode(b.Node, p.key)
		case "static":
			p.stable, err = staticRevision(b.Node)
		}
		if err != nil {
			return plan{}, d.Within(*b, err)
		}
	}
	if p.stable == "" {
		p.stable = "stable"
	}
	if p.stable == p.canary {
		p.canary = "next"
	}
	return p, nil
}

func staticRevision(node *yaml.Node) (string, error) {
	var b struct {
		Revision string `yaml:"revision"`
	}
	err := strict.Decode(node, &b)
	return b.Revision, err
}

// other is the revision to which a switch from the preferred one leads.
func (p plan) other(preferred string) string {
	if preferred == p.stable {
		return p.canary
	}
	return p.stable
}

// errFixed says that `primacy dev` cannot switch the default revision.
var errFixed = errors.New("the configuration does not keep the default revision in a ConfigMap, so there is nothing to switch (give it `defaultRevision: {configMap: {name: primacy-revisions, key: default}}`)")
