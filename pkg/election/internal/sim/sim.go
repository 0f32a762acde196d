package sim

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// Class is the kind of schedules that seeds are turned into.
type Class int

const (
	// Judged: everything that the guarantee covers, under every judge.
	Judged Class = iota + 1
	// Restore: the store is also reset to an earlier state. Overlaps and tokens are not judged.
	Restore
	// Rollouts: like Judged, but preferences follow from a rollout.
	Rollouts
	// Moves: like Judged, but elections have locks of several kinds, move from one lock to another, or
	// have ranges.
	Moves
	// Outages: the store falls silent for all members alike, and terms outlast the silence.
	Outages
	// PutBack: like Judged, but a stranger also puts locks back as they were in earlier terms. Only members that were shown the
	// later term are held to know of it.
	PutBack
	// Settings: like Judged, but the settings of elections change while members run. In a third of the seeds the store falls silent,
	// as in the class Outages.
	Settings
)

// Classes are all classes, Judged first.
var Classes = []Class{Judged, Restore, Rollouts, Moves, Outages, PutBack, Settings}

func (c Class) String() string {
	switch c {
	case Judged:
		return "judged"
	case Restore:
		return "restore"
	case Rollouts:
		return "rollouts"
	case Moves:
		return "moves"
	case Outages:
		return "outages"
	case PutBack:
		return "putback"
	case Settings:
		return "settings"
	}
	return fmt.Sprintf("Class(%d)", int(c))
}

// ParseClass reads what Class.String returns.
func ParseClass(s string) (Class, error) {
	for _, c := range Classes {
		if c.String() == s {
			return c, nil
		}
	}
	return 0, fmt.Errorf("unknown class %q (want one of %v)", s, Classes)
}

// Options are what a run depends on besides its seed.
type Options struct {
	// Class is Judged when zero.
	Class Class
	// Transcript is how many of the last lines to keep; zero keeps none, a negative number keeps all.
	Transcript int
}

// Result is the outcome of a run.
type Result struct {
	Seed  uint64
	Class Class
	// Violation says which judge objected to what; empty when none did.
	Violation string
	// Simulated is the length of the run in simulated seconds, Steps counts events.
	Simulated float64
	Steps     int
	Coverage  Coverage
	// Transcript tells what happened, for people.
	Transcript string
}

// Replay is the command that shows the run again.
func (r Result) Replay() string {
	return fmt.Sprintf("PRIMACY_SIM_REPLAY=%s:%d go test ./pkg/election/internal/sim -run TestReplay -v", r.Class, r.Seed)
}

// Run turns the seed into a schedule and runs it to its end, or to the first violation.
func Run(seed uint64, o Options) (result Result) {
	if o.Class == 0 {
		o.Class = Judged
	}
	w := newWorld(seed, o)
	defer func() {
		if p := recover(); p != nil {
			w.violate("panic", "%v\n%s", p, ownFrames(debug.Stack()))
		}
		result = Result{
			Seed: seed, Class: o.Class, Violation: w.violation, Simulated: float64(w.now) / 1e9,
			Steps: w.steps, Coverage: w.cov, Transcript: w.transcript.String(),
		}
	}()
	w.judge.plant()
	w.begin()
	w.run()
	return result
}

// ownFrames keeps the lines of a stack that name our files, without addresses, so that they are the same
// in every run.
func ownFrames(stack []byte) string {
	var b strings.Builder
	for _, line := range strings.Split(string(stack), "\n") {
		if i := strings.LastIndex(line, "/election/"); i >= 0 && strings.HasPrefix(line, "\t") {
			place, _, _ := strings.Cut(line[i+1:], " ")
			fmt.Fprintf(&b, "    %s\n", place)
		}
	}
	return b.String()
}
