package rollout

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// Bounds of accepted values.
const (
	maxSteps        = 100
	maxConcurrent   = 10_000
	maxFailureLimit = 100
	maxNumber       = 1 << 30
	maxWait         = 365 * 24 * time.Hour
)

// electionForm: an election's name is a DNS-1123 subdomain that fits into a label.
var electionForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

const maxElection = 63

// findings collects mistakes.
type findings struct{ errs strict.Errors }

func (f *findings) add(field, hint, problem string, args ...any) {
	f.errs = append(f.errs, strict.NewError(nil, field, fmt.Sprintf(problem, args...), hint))
}

func (f *findings) election(field, name string) {
	switch {
	case len(name) > maxElection:
		f.add(field, fmt.Sprintf("%d at most", maxElection), "%.70q has %d characters", name, len(name))
	case !electionForm.MatchString(name):
		f.add(field, "use lower-case letters, digits, dashes and dots", "%q is no name of an election", name)
	}
}

func (f *findings) revision(field, revision string) {
	if err := record.CheckRevision(revision); err != nil {
		f.add(field, "name the revision as members do: member.revision", "%v", err)
	}
}

func (f *findings) uid(uid string) {
	if !hex16.MatchString(uid) {
		f.add("uid", "16 hexadecimal digits, drawn at the start", "%.40q is no uid of a rollout", uid)
	}
}

func (f *findings) between(field string, n, least, most int) {
	if n < least || n > most {
		f.add(field, "", "%d is not between %d and %d", n, least, most)
	}
}

func (f *findings) wait(field string, d time.Duration) {
	if d <= 0 || d > maxWait {
		f.add(field, "such as 10m", "%v is not between 0 and a year", d)
	}
}

func oneOf[T ~string](f *findings, field string, value T, words ...T) {
	if slices.Contains(words, value) {
		return
	}
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = string(w)
	}
	f.add(field, strict.Suggest(string(value), names), "want %s, got %.40q", strings.Join(names, " or "), value)
}

// Validate returns what is wrong with a spec, as a strict.Errors.
func (s Spec) Validate() error { return s.mistakes().OrNil() }

func (s *Spec) mistakes() strict.Errors {
	var f findings
	f.uid(s.UID)
	f.between("generation", s.Generation, 1, maxNumber)
	f.revision("stable", s.Stable)
	f.revision("canary", s.Canary)
	if s.Stable == s.Canary {
		f.add("canary", "a rollout moves elections from one revision to another one", "stable and canary are both %q", s.Canary)
	}
	if s.StartedAt.IsZero() {
		f.add("startedAt", "write it as 2026-11-20T08:58:30Z", "is missing")
	}
	s.stepMistakes(&f)
	oneOf(&f, "onFailure", s.OnFailure, Rollback, HoldOn)
	oneOf(&f, "whenPreferredAbsent", s.WhenPreferredAbsent, Stay, Wait, RollbackWhenAbsent)
	f.wait("acquireTimeout", s.AcquireTimeout)
	f.between("maxConcurrentMoves", s.MaxConcurrentMoves, 1, maxConcurrent)
	f.between("failureLimit", s.FailureLimit, 0, maxFailureLimit)
	f.between("retry", s.Retry, 0, maxNumber)
	f.between("forgive", s.Forgive, 0, maxNumber)
	s.checkMistakes(&f)
	if p := s.Promote; p != nil {
		switch {
		case p.Full && p.Step == 0:
		case p.Full || p.Step == 0:
			f.add("promote", "step: 2, or full: true", "want exactly one of step and full")
		default:
			f.between("promote.step", p.Step, 1, maxSteps)
		}
	}
	return f.errs
}

// NoChecks is the name in Spec.Checks that means no checks at all.
const NoChecks = "none"

func (s *Spec) checkMistakes(f *findings) {
	if s.Checks != nil && len(s.Checks) == 0 {
		f.add("checks", "leave it out for all checks, write [none] for none", "is empty")
	}
	for i, name := range s.Checks {
		field := "checks[" + strconv.Itoa(i) + "]"
		switch {
		case name == "":
			f.add(field, "name a check", "is empty")
		case slices.Contains(s.Checks[:i], name):
			f.add(field, "keep one of the two", "%q is given twice", name)
		case name == NoChecks && len(s.Checks) > 1:
			f.add(field, "none stands by itself", "want either none or checks")
		}
	}
}

func (s *Spec) stepMistakes(f *findings) {
	if len(s.Steps) > maxSteps {
		f.add("steps", "", "%d steps, and there are at most %d", len(s.Steps), maxSteps)
		return
	}
	weight := 0
	named := map[string]bool{}
	for i, step := range s.Steps {
		at := "steps[" + strconv.Itoa(i) + "]"
		if kinds := step.kinds(); len(kinds) != 1 {
			f.add(at, "elections, setWeight, pause or analysis", "want exactly one kind of step, got %d", len(kinds))
			continue
		}
		switch step.Kind() {
		case StepElections:
			if len(step.Elections) == 0 {
				f.add(at+".elections", "name at least one", "is empty")
			}
			for j, name := range step.Elections {
				field := at + ".elections[" + strconv.Itoa(j) + "]"
				f.election(field, name)
				if named[name] {
					f.add(field, "name it once", "%q was named before", name)
				}
				named[name] = true
			}
		case StepSetWeight:
			f.between(at+".setWeight", step.SetWeight, 1, 100)
			if step.SetWeight < weight {
				f.add(at+".setWeight", "weights only grow; `abort` takes everything back", "%d is less than the weight before, %d", step.SetWeight, weight)
			}
			weight = step.SetWeight
		case StepPause:
			if step.Pause.Duration != 0 {
				f.wait(at+".pause.duration", step.Pause.Duration)
			}
		case StepAnalysis:
			f.wait(at+".analysis.for", step.Analysis.For)
		}
	}
	if n := len(s.Steps); n == 0 || s.Steps[n-1].SetWeight != 100 {
		f.add("steps", "end with setWeight: 100", "the last step does not reach 100")
	}
}

// places maps each election that the spec names to its place there.
func (s *Spec) places() map[string]string {
	places := map[string]string{}
	for i, step := range s.Steps {
		for j, name := range step.Elections {
			places[name] = fmt.Sprintf("steps[%d].elections[%d]", i, j)
		}
	}
	return places
}

// CheckNames returns, as a strict.Errors, the elections that the spec names but the group does not
// have.
func (s Spec) CheckNames(elections []string) error {
	var f findings
	for _, step := range s.Steps {
		for _, name := range step.Elections {
			if !slices.Contains(elections, name) {
				f.add(s.places()[name], strict.Suggest(name, elections), "the group has no election %q", name)
			}
		}
	}
	return f.errs.OrNil()
}

func checkPins(pins []Pin) strict.Errors {
	var f findings
	seen := map[string]bool{}
	for i, p := range pins {
		at := "[" + strconv.Itoa(i) + "]"
		f.pin(at, p)
		if seen[p.Election] {
			f.add(at+".election", "keep one of the two", "%q is pinned twice", p.Election)
		}
		seen[p.Election] = true
	}
	return f.errs
}

func (f *findings) pin(at string, p Pin) {
	f.election(strict.Join(at, "election"), p.Election)
	switch {
	case (p.Revision == "") == (p.Member == ""):
		f.add(at, "revision: 1-9-0, or member: web-0", "want exactly one of revision and member")
	case p.Revision != "":
		f.revision(strict.Join(at, "revision"), p.Revision)
	default:
		f.host(strict.Join(at, "member"), p.Member)
	}
}

func checkHistory(history []Ended) strict.Errors {
	var f findings
	for i, e := range history {
		oneOf(&f, "["+strconv.Itoa(i)+"].how", e.How, append([]Phase{Pending}, phases...)...)
	}
	return f.errs
}

// mistakes says why everybody must ignore a status. It does not check names of elections and members:
// the checksum shows that a controller wrote them.
func (s *Status) mistakes() strict.Errors {
	var f findings
	if s.Checksum != s.Sum() {
		f.add("checksum", controllersOnly, "does not belong to what is written here")
		return f.errs
	}
	f.inOrder("reach.names", s.Reach.Names)
	f.inOrder("reach.except", s.Reach.Except)
	f.uid(s.UID)
	oneOf(&f, "phase", s.Phase, phases...)
	f.between("step", s.Step, 1, maxSteps)
	return f.errs
}

const controllersOnly = "only the controller may write the status; it is ignored until the controller has written it again"

// inOrder reports names that are out of order, since Reach.Has would not find them.
func (f *findings) inOrder(field string, names []string) {
	for i := 1; i < len(names); i++ {
		at := field + "[" + strconv.Itoa(i) + "]"
		switch last, name := names[i-1], names[i]; {
		case name == last:
			f.add(at, controllersOnly, "%.70q is given twice", name)
		case name < last:
			f.add(at, controllersOnly, "%.70q comes after %.70q", name, last)
		}
	}
}
