package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/controller"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// Rollout is the state of a rollout and of its elections at one moment. The names of
// its fields in JSON and YAML are stable: fields are added, never renamed.
type Rollout struct {
	At    time.Time `json:"at"`
	Group string    `json:"group"`
	UID   string    `json:"uid,omitempty"`
	// Stable and Canary are empty if there is no rollout.
	Stable  string        `json:"stable,omitempty"`
	Canary  string        `json:"canary,omitempty"`
	Phase   rollout.Phase `json:"phase,omitempty"`
	Message string        `json:"message,omitempty"`
	By      string        `json:"by,omitempty"`
	Started time.Time     `json:"started,omitzero"`
	// Step is the present step, counted from 1; zero until a controller begins the rollout.
	Step   int    `json:"step,omitempty"`
	Weight Weight `json:"weight"`
	Steps  []Step `json:"steps,omitempty"`

	Elections []Moved `json:"elections"`
	// Behind are the elections that no member of the canary leads although the rollout has moved all of them. Those that are pinned, or
	// do not follow rollouts, are not among them.
	Behind  []string        `json:"behind,omitempty"`
	Checks  []Check         `json:"checks,omitempty"`
	Members []status.Member `json:"members"`
	// AsOf is when the API last showed who leads what; zero while it does.
	AsOf time.Time `json:"asOf,omitzero"`
	// Standing is what operators said that stands in the way of moves: a pause, drains and handovers.
	Standing []string `json:"standing,omitempty"`
	// Problems are mistakes in the stored plan, and why no controller begins it.
	Problems []string `json:"problems,omitempty"`
}

// Weight is the canary's share of the group.
type Weight struct {
	// Set is the weight that the steps have reached, in per cent.
	Set int `json:"set"`
	// Actual is the share of the elections that the canary leads, in per cent, rounded down: Led of All.
	Actual int `json:"actual"`
	Led    int `json:"led"`
	All    int `json:"all"`
}

// Progress says how far a step, an election or a check is.
type Progress string

const (
	// Done: over, or as it should be.
	Done Progress = "done"
	// Current: under way.
	Current Progress = "current"
	// Later: not begun.
	Later Progress = "later"
	// Failing: not as it should be.
	Failing Progress = "failing"
)

// Step is one step of the rollout.
type Step struct {
	Number int       `json:"number"`
	What   string    `json:"what"`
	State  Progress  `json:"state"`
	Since  time.Time `json:"since,omitzero"`
}

// Moved is an election, and how far it has moved to where the plan wants it.
type Moved struct {
	status.Election
	// Preferred is the revision that should lead by pin or rollout; empty if only the
	// default source decides.
	Preferred string   `json:"preferred,omitempty"`
	State     Progress `json:"progress"`
	// Move says in words how far the election is.
	Move string `json:"move"`
}

// Check is one check of the canary, and its findings.
type Check struct {
	Name     string    `json:"name"`
	State    Progress  `json:"state"`
	Failures []Failure `json:"failures,omitempty"`
}

// Failure is one finding of a check.
type Failure struct {
	Election string    `json:"election,omitempty"`
	Member   string    `json:"member,omitempty"`
	What     string    `json:"what"`
	At       time.Time `json:"at"`
	Forgiven bool      `json:"forgiven,omitempty"`
}

// RolloutOf joins a plan with a report. checks are the names of the checks that run if the rollout
// names none. stays says whether no rollout moves an election.
func RolloutOf(group string, plan rollout.Plan, r status.Report, checks []string, stays func(election string) bool) Rollout {
	v := Rollout{At: r.At, AsOf: r.AsOf, Group: group, Phase: plan.Phase(), Members: r.Members, Elections: []Moved{}}
	plan = plan.At(r.At)
	v.Standing = Standing(plan)
	for _, key := range plan.Unreadable {
		v.Problems = append(v.Problems, "what is stored under "+key+" cannot be read; nothing follows from it")
	}
	if s := plan.Rollout; s != nil {
		v.UID, v.Stable, v.Canary, v.By, v.Started = s.UID, s.Stable, s.Canary, Printable(s.By), s.StartedAt.Time
		v.Checks = checksOf(plan, checks)
	}
	if of(plan) {
		v.Message, v.Step = Printable(plan.Status.Message), plan.Status.Step
	}
	if plan.Phase() == rollout.Pending && r.At.Sub(v.Started) > beginTime {
		v.Problems = append(v.Problems, notBegun(r, controller.ElectionName(group)))
	}
	v.Steps = stepsOf(plan)
	v.Weight.Set = weightOf(plan)
	over := v.Phase == rollout.Promoted || v.Phase == rollout.Complete
	for _, e := range r.Elections {
		_, pinned := plan.Pin(e.Name)
		if stays(e.Name) && !pinned {
			v.Elections = append(v.Elections, Moved{Election: e, State: Done, Move: "left alone: its policy or scope does not follow rollouts"})
			continue
		}
		v.Elections = append(v.Elections, movedOf(plan, e))
		if over && !pinned && (!Led(e) || e.Revision != v.Canary) {
			v.Behind = append(v.Behind, e.Name)
		}
		if e.Name == controller.ElectionName(group) {
			continue // no weight counts it
		}
		v.Weight.All++
		if v.Canary != "" && Led(e) && e.Revision == v.Canary {
			v.Weight.Led++
		}
	}
	if v.Weight.All > 0 {
		v.Weight.Actual = 100 * v.Weight.Led / v.Weight.All
	}
	return v
}

// beginTime is how long a controller that may write has to begin a rollout; it takes a fraction of a second.
const beginTime = 15 * time.Second

// notBegun says why no controller has begun the rollout. The given election decides who drives it.
func notBegun(r status.Report, by string) string {
	for _, e := range r.Elections {
		if e.Name == by && Led(e) {
			return fmt.Sprintf("nobody has begun it: %s leads %s, so its log says why (primacy check --pre, with the credentials of members, asks for its rights)", Printable(e.Holder), by)
		}
	}
	return fmt.Sprintf("nobody has begun it: nobody leads %s (primacy explain %s says why)", by, by)
}

// of says whether the plan's status belongs to the plan's rollout.
func of(plan rollout.Plan) bool { return plan.Status.Of(plan.Rollout) }

// weightOf is the weight that the steps have reached.
func weightOf(plan rollout.Plan) (weight int) {
	switch phase := plan.Phase(); {
	case !of(plan), phase.Blocks():
		return 0
	case phase == rollout.Promoted, phase == rollout.Complete:
		return 100
	}
	for _, step := range plan.Rollout.Steps[:min(plan.Status.Step, len(plan.Rollout.Steps))] {
		weight = max(weight, step.SetWeight)
	}
	return weight
}

func stepsOf(plan rollout.Plan) (steps []Step) {
	if plan.Rollout == nil {
		return nil
	}
	phase := plan.Phase()
	for i, s := range plan.Rollout.Steps {
		step := Step{Number: i + 1, What: StepText(s), State: Later}
		switch {
		case phase == rollout.Promoted, phase == rollout.Complete:
			step.State = Done
		case !of(plan):
		case step.Number < plan.Status.Step:
			step.State = Done
		case step.Number == plan.Status.Step:
			step.State, step.Since = Current, plan.Status.StepStarted.Time
			if phase.Blocks() || phase == rollout.Degraded {
				step.State = Failing
			}
		}
		steps = append(steps, step)
	}
	return steps
}

// StepText is a step in words, as in a file of steps.
func StepText(s rollout.Step) string {
	switch s.Kind() {
	case rollout.StepElections:
		return "elections " + strings.Join(s.Elections, ", ")
	case rollout.StepSetWeight:
		return fmt.Sprintf("setWeight %d", s.SetWeight)
	case rollout.StepPause:
		if s.Pause.Duration == 0 {
			return "pause until promoted"
		}
		return "pause " + brief(s.Pause.Duration)
	case rollout.StepAnalysis:
		return "analysis " + brief(s.Analysis.For)
	}
	return "unknown"
}

// brief is a duration without units that are zero.
func brief(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// movedOf says how far an election has moved.
func movedOf(plan rollout.Plan, e status.Election) Moved {
	m := Moved{Election: e, State: Done, Move: "follows the default"}
	// We do not know the default here. We pass Unset instead: then an empty preference means that the default decides.
	preferred := plan.Preferred(e.Name, record.Preferred{State: record.PreferredUnset})
	m.Preferred = preferred.Revision
	if pin, pinned := plan.Pin(e.Name); pinned {
		m.Move = "pinned to " + cmp.Or(pin.Revision, "member "+pin.Member)
		if pin.Revision != "" && e.Revision != pin.Revision || pin.Member != "" && NameOf(e.Holder) != pin.Member {
			m.State = Current
		}
		return m
	}
	switch {
	case plan.Blind():
		m.State, m.Move = Failing, "stays: nobody can tell what is preferred"
	case plan.InForce():
		m.State, m.Move = inForce(plan, e, m.Preferred)
	}
	return m
}

// inForce says how far an election has moved, by the rollout alone, without pins.
func inForce(plan rollout.Plan, e status.Election, preferred string) (Progress, string) {
	phase := plan.Phase()
	here := Led(e) && e.Revision == preferred
	switch {
	case phase == rollout.Pending:
		return Later, "waits for a controller"
	case preferred == plan.Rollout.Canary && here:
		return Done, "moved"
	case of(plan) && slices.Contains(plan.Status.Absent, e.Name) && preferred == plan.Rollout.Canary:
		return Failing, "no ready member of the canary"
	case preferred == plan.Rollout.Canary:
		return Current, "moving"
	case here && phase.Blocks():
		return Done, "back"
	case here:
		return Later, "waits for a later step"
	}
	return Current, "going back"
}

// checksOf are the rollout's checks, and others with findings.
func checksOf(plan rollout.Plan, names []string) (checks []Check) {
	if given := plan.Rollout.Checks; given != nil {
		names = slices.DeleteFunc(slices.Clone(given), func(name string) bool { return name == rollout.NoChecks })
	}
	for _, name := range names {
		checks = append(checks, Check{Name: name, State: Done})
	}
	if !of(plan) {
		return checks
	}
	for _, f := range plan.Status.Failures {
		at := slices.IndexFunc(checks, func(c Check) bool { return c.Name == f.Check })
		if at < 0 {
			at = len(checks)
			checks = append(checks, Check{Name: Printable(f.Check), State: Done})
		}
		checks[at].Failures = append(checks[at].Failures, Failure{
			Election: Printable(f.Election), Member: Printable(f.Member), What: Printable(f.What), At: f.At.Time, Forgiven: f.Forgiven,
		})
		if !f.Forgiven {
			checks[at].State = Failing
		}
	}
	return checks
}
