//go:build linux

package child

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// inherited names the variables that a program gets from this process's environment. Other variables
// may be secrets, or configure primacy itself.
var inherited = []string{
	"PATH", "HOME", "TMPDIR", "TZ", "LANG",
	"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT",
}

// Reserved is the prefix of the variables that we set for a program.
const Reserved = "PRIMACY_"

// Inherited returns own, followed by the inherited variables of this process that own does not set.
func Inherited(own []string) []string {
	env := slices.Clone(own)
	for _, name := range inherited {
		value, set := os.LookupEnv(name)
		replaced := slices.ContainsFunc(own, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		if set && !replaced {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Environment returns the whole environment of a program in a term; own replaces inherited
// variables. A term without a token sets no token variable: a program that fences its writes must
// not take anything else for a token.
func Environment(own []string, term election.Term, deadline record.Instant) []string {
	env := append(Inherited(own),
		Reserved+"ELECTION="+term.Election,
		Reserved+"IDENTITY="+term.Identity,
		Reserved+"MEMBER_REVISION="+term.Revision,
		Reserved+"DEADLINE="+strconv.FormatInt(int64(deadline), 10),
	)
	if term.Fenced() {
		env = append(env, Reserved+"TOKEN="+strconv.FormatUint(uint64(term.Token), 10))
	}
	return env
}

// Variable is an environment variable that the configuration sets.
type Variable struct {
	// The variable's name. Names that begin with `PRIMACY_` are refused.
	Name string `yaml:"name" strict:"required"`
	// Its value. No message shows it.
	Value strict.Secret `yaml:"value" strict:"required"`
}

// Variables are a list of them.
type Variables []Variable

// DecodeStrict decodes a list of variables. No error shows a value, even a misplaced one.
func (vars *Variables) DecodeStrict(node *yaml.Node) error {
	const hint = "write each as - {name: NAME, value: VALUE}"
	if node.Kind != yaml.SequenceNode {
		return strict.NewError(node, "", "want a list of variables", hint)
	}
	var errs strict.Errors
	for i, entry := range node.Content {
		at := fmt.Sprintf("[%d]", i)
		var v Variable
		var several strict.Errors
		switch {
		case entry.Kind != yaml.MappingNode:
			errs = append(errs, strict.NewError(entry, at, "want a mapping of name and value", hint))
		case errors.As(strict.Rebase(strict.Decode(entry, &v), "", at, entry), &several):
			errs = append(errs, several...)
		}
		*vars = append(*vars, v)
	}
	return errs.OrNil()
}

// List returns the variables as NAME=value.
func (vars Variables) List() []string {
	var list []string
	for _, v := range vars {
		list = append(list, v.Name+"="+string(v.Value))
	}
	return list
}

// Check reports values that decode but make no sense; node is the block that holds `env`.
func (vars Variables) Check(node *yaml.Node) (errs strict.Errors) {
	fail := func(field, problem, hint string) {
		at, _ := strict.Lookup(node, field)
		errs = append(errs, strict.NewError(at, field, problem, hint))
	}
	seen := map[string]bool{}
	for i, v := range vars {
		name, value := fmt.Sprintf("env[%d].name", i), fmt.Sprintf("env[%d].value", i)
		switch {
		case v.Name == "" || HasNUL(v.Name) || strings.Contains(v.Name, "="):
			fail(name, fmt.Sprintf("%q cannot be the name of a variable", v.Name), "a name is not empty and has no = in it")
		case strings.HasPrefix(v.Name, Reserved):
			fail(name, v.Name+" is among the names that primacy sets itself", "choose one that does not begin with "+Reserved)
		case seen[v.Name]:
			fail(name, v.Name+" is set twice", "keep one of the two")
		case HasNUL(string(v.Value)):
			fail(value, "has a NUL byte in it", "no variable can have one")
		}
		seen[v.Name] = true
	}
	return errs
}

// HasNUL says whether s contains a NUL byte, which no argument or variable may contain.
func HasNUL(s string) bool { return strings.ContainsRune(s, 0) }
