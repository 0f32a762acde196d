package rollout

import (
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/strict"
)

// Explained is what a rollout would do now, before anything is written.
type Explained struct {
	// Steps are the steps that move elections, and the last one.
	Steps []StepMoves
	// Pinned lists the pinned elections, Ignoring the elections whose policy ignores revisions: no
	// step moves them.
	Pinned, Ignoring []string
	// Absent are elections for which no member of the canary is ready.
	Absent []string
}

// StepMoves is what one step does.
type StepMoves struct {
	// Step is the number of the step, the first being 1.
	Step  int
	Moves []Move
}

// Move says from whom to whom an election moves.
type Move struct {
	Election string
	// From is the holder, empty if nobody leads. To is the member that would lead, empty if no
	// member of the canary is ready: the election stays.
	From, To string
}

// Explain says which elections each step moves, and to whom. Elections that the canary already leads
// don't move. It returns an error if the spec is wrong, or names elections that no step can
// move: those that the group does not have, and the controller's own.
func Explain(spec Spec, seen Seen) (Explained, error) {
	var x Explained
	if err := spec.Validate(); err != nil {
		return x, err
	}
	var names []string
	for _, e := range seen.Elections {
		names = append(names, e.Name)
	}
	if err := spec.CheckNames(names); err != nil {
		return x, err
	}
	if place, named := spec.places()[seen.Own]; named {
		return x, strict.Errors{strict.NewError(nil, place, fmt.Sprintf("%q is the controller's own election", seen.Own), "leave it out: it moves last, by itself")}
	}
	l := look{spec: spec, seen: seen, now: At(time.Time{})}
	l.begin()
	own := l.believes()
	for _, e := range seen.Elections {
		if e.Follows == Ignores && !slices.Contains(x.Ignoring, e.Name) {
			x.Ignoring = append(x.Ignoring, e.Name)
		}
	}
	slices.Sort(x.Ignoring)
	done := map[string]bool{}
	for l.st.Step = 1; l.st.Step <= len(spec.Steps); l.st.Step++ {
		named, weighed := l.wanted()
		coming := slices.Concat(named, weighed)
		if own && l.final() {
			coming = append(coming, l.own)
		}
		step := StepMoves{Step: l.st.Step}
		for _, e := range coming {
			if done[e.Name] {
				continue
			}
			done[e.Name] = true
			switch {
			case e.Pinned:
				x.Pinned = append(x.Pinned, e.Name)
				continue
			case l.isCanarys(e):
				continue
			case e.Canary == "":
				x.Absent = append(x.Absent, e.Name)
			}
			step.Moves = append(step.Moves, Move{e.Name, e.Holder, e.Canary})
		}
		if len(step.Moves) > 0 || l.final() {
			x.Steps = append(x.Steps, step)
		}
	}
	slices.Sort(x.Pinned)
	slices.Sort(x.Absent)
	return x, nil
}
