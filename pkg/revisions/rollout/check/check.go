// Package check says what a check of a rollout is, and knows the kinds there are.
//
// A check looks at what the controller sees at one moment and tells what is wrong with the
// canary. It keeps nothing between two looks: what it must know of the past stands in the
// status or in the records, so that a controller goes on where the one before it stopped. The
// same finding may be told at every look; for the rollout it is one failure.
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
	// Name is the name that stands in a spec.
	Name() string
	// Find tells what is wrong. Check and At of its failures are filled in for it.
	Find(s Sight) []rollout.Failure
}

// Sight is one moment of a rollout.
type Sight struct {
	Spec rollout.Spec
	// Status is the last one; it is of this attempt.
	Status rollout.Status
	Seen   rollout.Seen
	Now    time.Time
}

// InReach are the elections that are the canary's by the last status, but for pinned ones and
// those that do not follow revisions.
func (s Sight) InReach() []rollout.Election {
	var in []rollout.Election
	for _, e := range s.Seen.Elections {
		if !e.Pinned && e.Follows != rollout.Ignores && s.Status.Reach.Has(s.Spec.UID, e.Name) {
			in = append(in, e)
		}
	}
	return in
}

// Canaries are the living members of the canary.
func (s Sight) Canaries() []rollout.Member {
	return slices.DeleteFunc(slices.Clone(s.Seen.Members), func(m rollout.Member) bool { return m.Revision != s.Spec.Canary })
}

// Registry is the table of the checks there are. It is filled before it is used: reading is
// safe from any goroutine, Register is not.
type Registry struct{ checks []Check }

// Register adds a check. A name that is taken, or empty, is a mistake in the program, and
// panics.
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

// Validate says which names of a spec are no checks.
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

// Find is what the checks of the spec find. A status of another attempt shows nothing yet.
// A name that is no check is a failure: nobody would notice what it does not look at.
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
