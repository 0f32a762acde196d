package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/primacy-dev/primacy/pkg/strict"
)

// Plan is what becomes of a process when it takes up another document. It is judged whole:
// there is one only where all of it can be carried out.
type Plan struct {
	// Next is what is in force afterwards: what the document says, but for what the process
	// keeps until its end.
	Next *Configuration
	// DefaultRevision: the source of the preferred revision is exchanged, without any stop.
	DefaultRevision bool
	// Steps has one for each election: those of Next in their order, then those that are
	// removed.
	Steps []Step
	// Restarts are what takes effect when a process is started with the document.
	Restarts []Restart
}

// Verb is what becomes of an election.
type Verb int

const (
	// Keep: nothing.
	Keep Verb = iota + 1
	// Add: this member takes part in it from now on.
	Add
	// Exchange: its work stops and its lock is released; then it is taken up as it is now.
	Exchange
	// Remove: its work stops and its lock is released.
	Remove
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
	}
	return "invalid"
}

// Step is what becomes of one election.
type Step struct {
	Election string
	Verb     Verb
	// Fields are those that differ, of an election that is exchanged.
	Fields []string
	// Notes say what is so until every member has taken the document up.
	Notes []string
}

// Restart is a field whose change waits for a restart.
type Restart struct {
	Field string
	// InForce is what the process keeps, Written what the document says.
	InForce, Written string
	// Line is where the document says it; zero where it does not.
	Line int
}

// Text says what is kept and what is written, and where.
func (r Restart) Text() string {
	text := fmt.Sprintf("%s stays, %s is written", r.InForce, r.Written)
	if r.Line != 0 {
		text += fmt.Sprintf(" in line %d", r.Line)
	}
	return text
}

// None says that nothing is different.
func (p *Plan) None() bool {
	return !p.DefaultRevision && len(p.Restarts) == 0 && len(p.Named(Add))+len(p.Named(Exchange))+len(p.Named(Remove)) == 0
}

// Named lists the elections whose steps have that verb.
func (p *Plan) Named(v Verb) []string {
	var names []string
	for _, s := range p.Steps {
		if s.Verb == v {
			names = append(names, s.Election)
		}
	}
	return names
}

// NewPlan plans how a process in which one configuration is in force takes up the one that is
// written. It depends on nothing else. The error is a strict.Errors with the place of everything
// that cannot be in force.
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
	var refused strict.Errors
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

// lineOf is the line of a field, or of what it follows from; zero where the document says
// nothing.
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

// shown is the value that a pointer leads to, for people.
func shown(pointer any) string {
	v := reflect.ValueOf(pointer).Elem()
	if v.IsZero() {
		return "(unset)"
	}
	return fmt.Sprint(v.Interface())
}
