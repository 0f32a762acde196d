package explore

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutant is the machine with one rule broken: in that file of package machine, what is old
// must occur exactly once.
type mutant struct {
	name, file, old, new string
	// world must show it, and wrong be in what it says.
	world, wrong string
}

var mutants = []mutant{
	{
		name: "deadline from the reply", file: "step.go",
		old: "validUntil := sent.Add(s.cfg.Timing.Validity())", new: "validUntil := s.now.Add(s.cfg.Timing.Validity())",
		world: "slow", wrong: "work",
	},
	{
		name: "lost reply extends", file: "step.go",
		old: "		s.writes[i].unknown = true\n", new: "		s.writes[i].unknown = true\n		s.committed(w, w.asked)\n",
		world: "any", wrong: "work",
	},
	{
		name: "takes a live lock", file: "follow.go",
		old: "return l.changedAt.Add(t.ObserverWait(l.duration)), true // rule 3", new: "return l.changedAt, true",
		world: "none", wrong: "while m",
	},
	{
		name: "expires too early", file: "follow.go",
		old: "return l.changedAt.Add(t.ObserverWait(l.duration)), true // rule 3", new: "return l.changedAt.Add(l.duration - 2*time.Second), true",
		world: "any", wrong: "while m",
	},
	{
		name: "created is taken at once", file: "follow.go",
		old: "if s.cfg.Bootstrap == BootstrapImmediate && l.Record.Untouched() {", new: "if l.Record.Untouched() {",
		world: "stalls", wrong: "while m",
	},
	{
		name: "releases before the drain", file: "lead.go",
		old: "	case !s.Drain.Stopped:\n", new: "	case !s.Drain.Stopped && s.Drain.Reason == ReasonPreempted:\n		s.release()\n	case !s.Drain.Stopped:\n",
		world: "any", wrong: "before its work has stopped",
	},
	{
		name: "stops at the deadline", file: "lead.go",
		old: "stopAt := s.Term.Deadline.Add(-t.StopGrace) // rule 4", new: "stopAt := s.Term.Deadline.Add(0 * t.StopGrace)",
		world: "any", wrong: "not stopped before its deadline",
	},
	{
		name: "token starts over", file: "content.go",
		old: "token := max(record.Token(s.Lock.Version.Revision), s.Term.Token+1)", new: "token := s.Term.Token + 1",
		world: "crashes", wrong: "starts with token",
	},
	{
		name: "a failed read is waited for", file: "step.go",
		old: "	case ReadFailed:\n		s.reading = false\n", new: "	case ReadFailed:\n",
		world: "alone", wrong: "no leader for ever",
	},
}

// hunts are the worlds in which mutants are hunted.
var hunts = map[string]Options{
	"none":    {Members: 2, Timing: Tiny()},
	"any":     {Members: 2, Timing: Tiny(), Faults: AllFaults(), Budget: 1},
	"alone":   {Members: 1, Timing: Tiny(), Faults: []Fault{StrayWrite, LostRead}, Budget: 2},
	"crashes": {Members: 2, Timing: Tiny(), Faults: []Fault{Crash, Delete}, Budget: 2},
	"stalls":  {Members: 2, Timing: Tiny(), Faults: []Fault{Stall, Delete}, Budget: 2},
	"slow":    {Members: 2, Timing: Tiny(), Lag: 1, Faults: []Fault{Cut}, Budget: 1},
}

// TestMutantsDie compiles the explorer over each mutant and has it find the shortest way
// to a violation.
func TestMutantsDie(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("compiles the explorer once for each mutant")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go tool: ", err)
	}
	only := os.Getenv("PRIMACY_MUTANT")
	for _, m := range mutants {
		if !strings.Contains(m.name, only) {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			found, err := m.hunt(goTool, t.TempDir())
			switch {
			case err != nil:
				t.Fatal(err)
			case !strings.Contains(found.Wrong, m.wrong):
				t.Errorf("want a violation that says %q, got %q\n%s", m.wrong, found.Wrong, found.Path)
			}
			t.Logf("after %d states, %d moves: %s", found.States, found.Moves, found.Wrong)
			if testing.Verbose() && only != "" {
				t.Log("\n" + found.Path)
			}
		})
	}
}

func (m mutant) hunt(goTool, dir string) (found Result, err error) {
	source, err := filepath.Abs(filepath.Join("..", "..", "machine", m.file))
	if err != nil {
		return found, err
	}
	text, err := os.ReadFile(source)
	if err != nil {
		return found, err
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return found, fmt.Errorf("machine/%s has %d times what the mutant replaces, want once; the code has changed, so change this test with it:\n%s", m.file, n, m.old)
	}
	replaced, overlay, binary := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "explore.test")
	if err := os.WriteFile(replaced, []byte(strings.Replace(string(text), m.old, m.new, 1)), 0o600); err != nil {
		return found, err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {source: replaced}})
	if err != nil {
		return found, err
	}
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		return found, err
	}
	if out, err := exec.Command(goTool, "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, ".").CombinedOutput(); err != nil {
		return found, fmt.Errorf("does not compile: %w\n%s", err, out)
	}
	answer := filepath.Join(dir, "found.json")
	hunt := exec.Command(binary, "-test.run", "^TestHunt$")
	hunt.Env = append(os.Environ(), "PRIMACY_EXPLORE_HUNT="+m.world, "PRIMACY_EXPLORE_FOUND="+answer)
	if out, err := hunt.CombinedOutput(); err != nil {
		return found, fmt.Errorf("hunt: %w\n%s", err, out)
	}
	if text, err = os.ReadFile(answer); err != nil {
		return found, errors.New("the hunt said nothing")
	}
	return found, json.Unmarshal(text, &found)
}

// TestHunt is what a mutant's binary runs.
func TestHunt(t *testing.T) {
	world, answer := os.Getenv("PRIMACY_EXPLORE_HUNT"), os.Getenv("PRIMACY_EXPLORE_FOUND")
	if world == "" {
		t.Skip("PRIMACY_EXPLORE_HUNT=<world> is not set")
	}
	text, err := json.Marshal(Explore(hunts[world]))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(answer, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
