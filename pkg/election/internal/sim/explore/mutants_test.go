package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/internal/mutants"
)

// mutant is the code with one rule broken. file is a path below pkg/election; the file contains old exactly
// once.
type mutant struct {
	name, file, old, new string
	// world is where the mutant must be found, and wrong a part of the violation.
	world, wrong string
}

var rows = []mutant{
	{
		name: "deadline from the reply", file: "internal/machine/validity.go",
		old: "validUntil := sent.Add(s.cfg.Timing.Validity())", new: "validUntil := s.now.Add(s.cfg.Timing.Validity())",
		world: "slow", wrong: "work",
	},
	{
		name: "lost reply extends", file: "internal/machine/writes.go",
		old: "		s.writes.open[i].unknown = true\n", new: "		s.writes.open[i].unknown = true\n		s.committed(w, w.asked)\n",
		world: "any", wrong: "work",
	},
	{
		name: "takes a live lock", file: "internal/machine/lock.go",
		old: "expired := l.changedAt.Add(s.observer().ObserverWait(l.duration)) // rule observers-clock", new: "expired := l.changedAt",
		world: "none", wrong: "while m",
	},
	{
		name: "expires too early", file: "internal/machine/lock.go",
		old: "expired := l.changedAt.Add(s.observer().ObserverWait(l.duration)) // rule observers-clock", new: "expired := l.changedAt.Add(l.duration - 2*time.Second)",
		world: "any", wrong: "while m",
	},
	{
		name: "created is taken at once", file: "internal/machine/lock.go",
		old: "!(s.cfg.Bootstrap == BootstrapImmediate && s.Lock.Record.Untouched())", new: "!s.Lock.Record.Untouched()",
		world: "stalls", wrong: "while m",
	},
	{
		name: "releases before the drain", file: "internal/machine/lead.go",
		old: "	case !s.Drain.Stopped:\n", new: "	case !s.Drain.Stopped && s.Drain.Reason == ReasonPreempted:\n		s.release()\n	case !s.Drain.Stopped:\n",
		world: "any", wrong: "before its work has stopped",
	},
	{
		name: "stops at the deadline", file: "internal/machine/lead.go",
		old: "stopAt := s.Term.Deadline.Add(-t.StopGrace) // rule dead-by-the-deadline", new: "stopAt := s.Term.Deadline.Add(0 * t.StopGrace)",
		world: "any", wrong: "not stopped before its deadline",
	},
	{
		name: "token starts over", file: "internal/machine/content.go",
		old: "return max(record.Token(s.Lock.Version.Revision), record.Token(s.cfg.Newest), s.Term.Token+1)", new: "return s.Term.Token + 1",
		world: "crashes", wrong: "starts with token",
	},
	{
		name: "a failed read is waited for", file: "internal/machine/step.go",
		old: "	case ReadFailed:\n		s.writes.reading = false\n", new: "	case ReadFailed:\n",
		world: "alone", wrong: "never be a leader again",
	},
	{
		name: "a reply to a beat is sight (rule seen-not-assumed)", file: "internal/member/sessions.go",
		old:   "	m.own.WriteDone(m.now, w.Beat, outcome, a.entry.Version)\n",
		new:   "	m.own.WriteDone(m.now, w.Beat, outcome, a.entry.Version)\n	m.sawBeat(a.entry)\n",
		world: "sessions", wrong: "more than the beats that it has seen",
	},
	{
		name: "a beat counts from its sight (rule seen-not-assumed)", file: "internal/session/beats.go",
		old: "Sent: o.sent[0].at}", new: "Sent: now}",
		world: "stalled", wrong: "more than the beats that it has seen",
	},
	{
		name: "a term counts from its take (rule seen-not-assumed)", file: "internal/machine/validity.go",
		old: "	if w.throughSession {\n", new: "	if w.throughSession && s.cfg.Beat.Sent == 0 {\n",
		world: "sessions", wrong: "more than the beats that it has seen",
	},
	{
		name: "taken before the session ended (rule a-session-ends-once)", file: "internal/machine/lock.go",
		old:   "			return 0, false // it lasts for as long as its holder's session does\n",
		new:   "			return l.changedAt.Add(t.ObserverWait(l.duration)), true\n",
		world: "sessions", wrong: "takes the lock while m1",
	},
	{
		name: "a session is ended too early (rule a-session-ends-once)", file: "internal/session/directory.go",
		old:   "return s.changedAt.Add(d.lasts(s))",
		new:   "return s.changedAt.Add(d.lasts(s) / 2)",
		world: "dies", wrong: "while",
	},
	{
		name: "a lapsed session beats on (rule a-session-ends-once)", file: "internal/session/own.go",
		old: "	case s.record.Released():\n		lose(LostEnded)\n", new: "	case s.record.Released():\n",
		world: "cut", wrong: "beats after its end",
	},
	{
		name: "a session is another under the same name (rule owned-through-its-session)", file: "internal/machine/sessions.go",
		old: "	case !exists || o.UID != m.SessionUID:\n", new: "	case !exists:\n",
		world: "recreated", wrong: "takes the lock while an orphan",
	},
	{
		name: "ownership is not asked again (rule owned-through-its-session)", file: "internal/machine/step.go",
		old: "		s.View = e.View\n		s.reown()\n", new: "		s.View = e.View\n",
		world: "dies", wrong: "never be a leader again",
	},
	{
		name: "a request counts from its answer (rule newer-by-version)", file: "internal/member/requests.go",
		old: "ans := answer{sent: a.sent,", new: "ans := answer{sent: m.now,",
		world: "slow", wrong: "that the store was restored",
	},
	{
		name: "told to stop is stopped (rule stop-before-release)", file: "internal/member/handle.go",
		old: "		if !c.working {\n", new: "		if true {\n",
		world: "any", wrong: "before its work has stopped",
	},
	{
		name: "the session ends before the work (rule a-session-ends-once)", file: "internal/member/leaving.go",
		old: "(len(m.contests.all) == 0 && len(m.handed) == 0 || m.letGo())", new: "(len(m.handed) == 0 || m.letGo())",
		world: "leaves", wrong: "before its work has stopped",
	},
}

// hunts are the worlds in which TestMutantsDie explores the mutants.
var hunts = map[string]Options{
	"none":      {Members: 2, Timing: Tiny()},
	"any":       {Members: 2, Timing: Tiny(), Faults: AllFaults(), Budget: 1},
	"alone":     {Members: 1, Timing: Tiny(), Faults: []Fault{StrayWrite, LostRead}, Budget: 2},
	"crashes":   {Members: 2, Timing: Tiny(), Faults: []Fault{Crash, Delete}, Budget: 2},
	"stalls":    {Members: 2, Timing: Tiny(), Faults: []Fault{Stall, Delete}, Budget: 2},
	"sessions":  beats("", Options{Beats: Prompt}),
	"stalled":   beats("", Options{Beats: Prompt, Start: Settled, Faults: []Fault{Stall}, Budget: 1}),
	"dies":      beats("", Options{Beats: Prompt, Start: Settled, Faults: []Fault{Crash}, Budget: 1}),
	"cut":       beats("", Options{Beats: Prompt, Start: Settled, Faults: []Fault{Cut}, Budget: 1}),
	"leaves":    beats("", Options{Beats: Prompt, Start: Settled, Faults: []Fault{Resign}, Budget: 1}),
	"recreated": beats("", Options{Beats: Prompt, Start: Settled, Faults: []Fault{Crash, DeleteSession}, Budget: 2}),
	"slow":      {Members: 2, Timing: Tiny(), Lag: 1, Faults: []Fault{Cut}, Budget: 1},
}

// sampled: TestMutantsDie tries one row in sampled unless it is asked for others.
const sampled = 4

// TestMutantsDie compiles the explorer with each mutant and has it find the shortest way to a violation.
func TestMutantsDie(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("compiles the explorer once for each mutant")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go tool: ", err)
	}
	tried := 0
	for n, m := range rows {
		if !mutants.Asked(m.name) && (!mutants.SampleOnly() || n%sampled != 0) {
			continue
		}
		tried++
		t.Run(m.name, func(t *testing.T) {
			found, err := m.hunt(t.Context(), t.TempDir())
			switch {
			case err != nil:
				t.Fatal(err)
			case !strings.Contains(found.Wrong, m.wrong):
				t.Errorf("want a violation that says %q, got %q\n%s", m.wrong, found.Wrong, found.Path)
			}
			t.Logf("after %d states, %d moves: %s", found.States, found.Moves, found.Wrong)
			if testing.Verbose() {
				t.Log("\n" + found.Path)
			}
		})
	}
	if tried == 0 {
		t.Skip(mutants.NoneHasThatName)
	}
}

func (m mutant) edit() mutants.Edit {
	return mutants.Edit{File: "pkg/election/" + m.file, Old: m.old, New: m.new}
}

func (m mutant) hunt(ctx context.Context, dir string) (found Result, err error) {
	root, err := mutants.Root()
	if err != nil {
		return found, err
	}
	binary, err := m.edit().Compile(ctx, root, "pkg/election/internal/sim/explore", dir)
	if err != nil {
		return found, err
	}
	answer := filepath.Join(dir, "found.json")
	hunt := exec.Command(binary, "-test.run", "^TestHunt$")
	hunt.Env = append(os.Environ(), "PRIMACY_EXPLORE_HUNT="+m.world, "PRIMACY_EXPLORE_FOUND="+answer)
	if out, err := hunt.CombinedOutput(); err != nil {
		return found, fmt.Errorf("hunt: %w\n%s", err, out)
	}
	text, err := os.ReadFile(answer)
	if err != nil {
		return found, errors.New("the hunt said nothing")
	}
	return found, json.Unmarshal(text, &found)
}

// TestRowsFit checks that each mutant fits the code: the text that it replaces occurs exactly once.
func TestRowsFit(t *testing.T) {
	root, err := mutants.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range rows {
		if _, err := m.edit().Apply(root); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// TestHunt runs in a mutant's binary.
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
