// Package check defines what a check of a rollout is, and registers the checks there are.
//
// A check looks at what the controller sees at one moment and finds what is wrong with the
// canary. It keeps no state between looks: the status and the records hold the past, so that a
// new controller goes on where the last one stopped. A check may report the same finding at
// every look; the rollout counts one failure.
//
// A new check is one folder and one line in package all.
package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// Check finds one kind of trouble with the canary.
type Check interface {
	// Name is the check's name in a spec.
	Name() string
	// Find reports what is wrong. Registry.Find fills in Check and At of the failures.
	Find(s Sight) []rollout.Failure
}

// Sight is one moment of a rollout.
type Sight struct {
	Spec rollout.Spec
	// Status is the last stored status; it belongs to this attempt.
	Status rollout.Status
	Seen   rollout.Seen
	Now    time.Time
}

// InReach returns the elections in reach by the last status, except pinned ones and those that ignore
// revisions.
func (s Sight) InReach() []rollout.Election {
	var in []rollout.Election
	for _, e := range s.Seen.Elections {
		if !e.Pinned && e.Follows != rollout.Ignores && s.Status.Reach.Has(s.Spec.UID, e.Name) {
			in = append(in, e)
		}
	}
	return in
}

// Canaries returns the living members of the canary.
func (s Sight) Canaries() []rollout.Member {
	return slices.DeleteFunc(slices.Clone(s.Seen.Members), func(m rollout.Member) bool { return m.Revision != s.Spec.Canary })
}

// Registry is the table of checks. Fill it before you use it: any goroutine may read it, but
// Register must not run at the same time.
type Registry struct{ checks []Check }

// Register adds a check. It panics if the name is taken or empty, which is a mistake in the
// program.
func (r *Registry) Register(c Check) {
	switch name := c.Name(); {
	case name == "" || name == rollout.NoChecks || name == rollout.CheckAbsent:
		panic(fmt.Sprintf("check: %q cannot be the name of a check", name))
	case slices.Contains(r.Names(), name):
		panic(fmt.Sprintf("check: %q is registered twice", name))
	}
	r.checks = append(r.checks, c)
}

// Names lists the names of all checks, sorted.
func (r *Registry) Names() []string {
	var names []string
	for _, c := range r.checks {
		names = append(names, c.Name())
	}
	slices.Sort(names)
	return names
}

// Validate returns which names in a spec are no checks.
func (r *Registry) Validate(spec rollout.Spec) error {
	var errs strict.Errors
	for i, name := range spec.Checks {
		if name != rollout.NoChecks && !slices.Contains(r.Names(), name) {
			hint := "the checks are: " + strings.Join(r.Names(), ", ")
			if near := strict.Nearest(name, r.Names()); near != "" {
				hint = "did you mean " + near + "?"
			}
			errs = append(errs, strict.NewError(nil, fmt.Sprintf("checks[%d]", i), fmt.Sprintf("there is no check %.40q", name), hint))
		}
	}
	return errs.OrNil()
}

// Find returns what the checks of the spec find: nothing if the status belongs to another attempt. An
// unknown name is a failure, since nobody would notice that its check is missing.
func (r *Registry) Find(s Sight) []rollout.Failure {
	if !s.Status.Of(&s.Spec) {
		return nil
	}
	var found []rollout.Failure
	for _, c := range r.checks {
		if s.Spec.Checks != nil && !slices.Contains(s.Spec.Checks, c.Name()) {
			continue
		}
		for _, f := range c.Find(s) {
			f.Check, f.At = c.Name(), rollout.At(s.Now)
			found = append(found, f)
		}
	}
	for _, name := range s.Spec.Checks {
		if name != rollout.NoChecks && !slices.Contains(r.Names(), name) {
			found = append(found, rollout.Failure{Check: name, What: "this controller knows no such check", At: rollout.At(s.Now)})
		}
	}
	return found
}
