package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/primacy-dev/primacy/pkg/strict"
)

// Plan is what a running process does when it takes up another document. A plan exists only if
// the process can carry out all of it.
type Plan struct {
	// Next is the configuration in force afterwards: the document's, except for the fields that
	// the process keeps until its end.
	Next *Configuration
	// DefaultRevision: the source of the preferred revision changes; no work stops.
	DefaultRevision bool
	// Steps has one Step for each election: first the elections of Next in their order, then the removed
	// ones.
	Steps []Step
	// Restarts are the changes that take effect only when a process starts with the document.
	Restarts []Restart
}

// Verb is what a Step does to an election.
type Verb int

const (
	// Keep: nothing changes.
	Keep Verb = iota + 1
	// Add: this member takes part in the election from now on.
	Add
	// Exchange: the election's work stops, the member releases the lock, and takes part in the new form.
	Exchange
	// Remove: the election's work stops and the member releases the lock.
	Remove
	// Relabel: the label of the leader's Pod comes or goes; no work stops.
	Relabel
)

func (v Verb) String() string {
	switch v {
	case Keep:
		return "keep"
	case Add:
		return "add"
	case Exchange:
		return "exchange"
	case Remove:
		return "remove"
	case Relabel:
		return "relabel"
	}
	return "invalid"
}

// Step is what happens to one election.
type Step struct {
	Election string
	Verb     Verb
	// Fields are the fields that differ, if the Verb is Exchange or Relabel.
	Fields []string
	// Notes say what to expect until every member has taken the document up.
	Notes []string
}

// Restart is a field whose change waits for a restart.
type Restart struct {
	Field string
	// InForce is the value that the process keeps, Written the document's.
	InForce, Written string
	// Line is the field's line in the document; zero if the document lacks it.
	Line int
}

// Text names both values, and the line.
func (r Restart) Text() string {
	text := fmt.Sprintf("%s stays, %s is written", r.InForce, r.Written)
	if r.Line != 0 {
		text += fmt.Sprintf(" in line %d", r.Line)
	}
	return text
}

// None says that nothing is different.
func (p *Plan) None() bool {
	return !p.DefaultRevision && len(p.Restarts) == 0 && len(p.Named(Add))+len(p.Named(Exchange))+len(p.Named(Remove))+len(p.Named(Relabel)) == 0
}

// Named lists the elections whose steps have the given verb.
func (p *Plan) Named(v Verb) []string {
	var names []string
	for _, s := range p.Steps {
		if s.Verb == v {
			names = append(names, s.Election)
		}
	}
	return names
}

// NewPlan plans how a process with the configuration inForce takes up the configuration written.
// The result depends on these two only. The error is a strict.Errors with the place of each part that
// the process must refuse.
func NewPlan(inForce, written *Configuration) (*Plan, error) {
	next, err := written.resolvedFor(inForce)
	if err != nil {
		return nil, err
	}
	p := &Plan{Next: next, DefaultRevision: inForce.DefaultRevision.digest() != next.DefaultRevision.digest()}
	for _, f := range ofProcess {
		kept, wanted := f.of(inForce), f.of(written)
		if !reflect.DeepEqual(kept, wanted) {
			p.Restarts = append(p.Restarts, Restart{f.field, shown(kept), shown(wanted), written.lineOf(f.field)})
		}
	}
	before := make(map[string]*Election, len(inForce.Elections))
	for i := range inForce.Elections {
		before[inForce.Elections[i].Name] = &inForce.Elections[i]
	}
	refused := written.refuseSpace(inForce)
	for i := range next.Elections {
		e := &next.Elections[i]
		old := before[e.Name]
		delete(before, e.Name)
		step := Step{Election: e.Name, Verb: Add}
		if old == nil {
			refused = append(refused, next.refuseScope(inForce, e)...)
		} else {
			refused = append(refused, next.refuseLock(old, e)...)
			step.Verb, step.Fields, step.Notes = Exchange, differences(old, e), mixed(old, e)
			if step.Fields == nil {
				step.Verb = Keep
			}
			if step.Verb == Keep && old.LeaderLabel != e.LeaderLabel {
				step.Verb, step.Fields = Relabel, []string{"leaderLabel"}
			}
		}
		p.Steps = append(p.Steps, step)
	}
	for i := range next.Elections {
		if e := &next.Elections[i]; p.Steps[i].Verb == Add {
			p.Steps[i].Notes = append(p.Steps[i].Notes, renamed(e, inForce, before)...)
		}
	}
	for _, e := range inForce.Elections {
		if before[e.Name] != nil {
			p.Steps = append(p.Steps, Step{Election: e.Name, Verb: Remove})
		}
	}
	if err := refused.OrNil(); err != nil {
		return nil, err
	}
	return p, nil
}

// lineOf is the line of a field, or of the profile that sets it; zero if the document has
// neither.
func (c *Configuration) lineOf(field string) int {
	if c.sources[field] != "" {
		return 0
	}
	places := []string{field}
	if strings.HasPrefix(field, "timing.") {
		places = append(places, "timing.profile")
	}
	for _, at := range places {
		if node, written := strict.Lookup(c.root, at); written {
			return node.Line
		}
	}
	return 0
}

// shown is the value behind a pointer, for people.
func shown(pointer any) string {
	v := reflect.ValueOf(pointer).Elem()
	if v.IsZero() {
		return "(unset)"
	}
	return fmt.Sprint(v.Interface())
}
