package sim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/internal/mutants"
)

// mutant is production code with one rule broken.
type mutant struct {
	name string
	rule string
	// file is a path below pkg/election. The file contains old exactly once.
	file     string
	old, new string
	// class is the class of the seeds that kill the mutant; Judged when zero.
	class Class
	// from is the first seed to try; it saves time for mutants that take long to find.
	from uint64
}

// seedsPerMutant bounds the search for a seed that kills a mutant, from the first seed that its row names.
const seedsPerMutant = 5000

// sampled: TestMutantsDie tries one row in sampled unless it is asked for others.
const sampled = 6

// TestMutantsDie compiles the simulator with each mutant, without touching the source, and looks for a
// seed that shows a violation. The unchanged code passes the same seeds.
func TestMutantsDie(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("compiles the simulator once for each mutant")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go tool: ", err)
	}
	type outcome struct {
		mutant
		seed      uint64
		violation string
		err       error
	}
	rows := slices.Concat(rows, deathRows, putBackRows, settingsRows)
	outcomes := make([]outcome, len(rows))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for n := range next {
				o := outcome{mutant: rows[n]}
				o.seed, o.violation, o.err = o.hunt(t.Context(), t.TempDir())
				outcomes[n] = o
			}
		})
	}
	tried := 0
	for n := range rows {
		if mutants.Asked(rows[n].name) || mutants.SampleOnly() && n%sampled == 0 {
			tried++
			next <- n
		}
	}
	close(next)
	workers.Wait()
	if tried == 0 {
		t.Skip(mutants.NoneHasThatName)
	}

	type span struct {
		class Class
		from  uint64
	}
	last := map[span]uint64{}
	var table strings.Builder
	fmt.Fprintf(&table, "%-36s %-6s %5s  %s\n", "mutant", "rule", "seed", "killed by")
	for _, o := range outcomes {
		switch {
		case o.name == "":
			continue
		case o.err != nil:
			t.Errorf("%s: %v", o.name, o.err)
		case o.violation == "":
			t.Errorf("%s (rule %s) survived %d seeds", o.name, o.rule, seedsPerMutant)
		default:
			s := span{o.seeds(), max(1, o.from)}
			last[s] = max(last[s], o.seed)
		}
		fmt.Fprintf(&table, "%-36s %-6s %5d  %.90s\n", o.name, o.rule, o.seed, o.violation)
	}
	t.Logf("\n%s", table.String())
	for s, n := range last {
		if _, _, failed := Sweep(s.from, n-s.from+1, Options{Class: s.class}); failed != nil {
			t.Errorf("the code as it is fails too: %s", failed.Explain())
		}
	}
}

func (m mutant) seeds() Class {
	if m.class == 0 {
		return Judged
	}
	return m.class
}

func (m mutant) edit() mutants.Edit {
	return mutants.Edit{File: "pkg/election/" + m.file, Old: m.old, New: m.new}
}

// hunt compiles the mutant and returns the first seed that kills it.
func (m mutant) hunt(ctx context.Context, dir string) (seed uint64, violation string, err error) {
	root, err := mutants.Root()
	if err != nil {
		return 0, "", err
	}
	binary, err := m.edit().Compile(ctx, root, "pkg/election/internal/sim", dir)
	if err != nil {
		return 0, "", err
	}
	defer os.Remove(binary)
	hunt := exec.Command(binary, "-test.run", "^TestHunt$")
	hunt.Env = append(os.Environ(), "GOMAXPROCS=1", fmt.Sprintf("PRIMACY_SIM_HUNT=%s:%d:%d", m.seeds(), max(1, m.from), max(1, m.from)+seedsPerMutant-1))
	out, err := hunt.Output()
	if err != nil {
		return 0, "", fmt.Errorf("hunt: %w\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if found, ok := strings.CutPrefix(line, "killed by "); ok {
			number, violation, _ := strings.Cut(strings.TrimSpace(found), " ")
			seed, err := strconv.ParseUint(number, 10, 64)
			return seed, violation, err
		}
	}
	if !strings.Contains(string(out), "survived") {
		err = errors.New("the hunt said nothing")
	}
	return 0, "", err
}

// TestRowsFit checks that each mutant fits the code: the text that it replaces occurs exactly once.
func TestRowsFit(t *testing.T) {
	root, err := mutants.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range slices.Concat(rows, deathRows, putBackRows, settingsRows) {
		if _, err := m.edit().Apply(root); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// TestHunt runs in a mutant's binary: it searches the seeds of PRIMACY_SIM_HUNT=class:first:last for a
// violation.
func TestHunt(t *testing.T) {
	hunt := os.Getenv("PRIMACY_SIM_HUNT")
	if hunt == "" {
		t.Skip("PRIMACY_SIM_HUNT=class:first:last is not set")
	}
	cut := strings.LastIndex(hunt, ":")
	what, err := parseSeed(hunt[:cut])
	if err != nil {
		t.Fatal(err)
	}
	last, err := strconv.ParseUint(hunt[cut+1:], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, failed := Sweep(what.Seed, last-what.Seed+1, Options{Class: what.Class}); failed != nil {
		line, _, _ := strings.Cut(failed.Violation, "\n")
		fmt.Printf("\nkilled by %d %s\n", failed.Seed, line)
		return
	}
	fmt.Println("\nsurvived")
}
