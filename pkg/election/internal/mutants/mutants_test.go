package mutants_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/mutants"
)

// runs is how often a test must kill its mutant, each time in a new process.
const runs = 3

// patience is how long one run may take on a busy machine.
const patience = 5 * time.Minute

// sample names the rows that TestMutantsDie tries unless it is asked for others.
var sample = []string{"follow/expired-not-forgotten", "session/own-patience"}

// TestMutantsDie checks that the named test of each row fails with the broken rule in each run, and
// passes on the code as it is.
func TestMutantsDie(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a test binary for each mutant")
	}
	var chosen []row
	for _, r := range table {
		if mutants.Asked(r.name) || mutants.SampleOnly() && slices.Contains(sample, r.name) {
			chosen = append(chosen, r)
		}
	}
	if len(chosen) == 0 {
		t.Skip(mutants.NoneHasThatName)
	}
	t.Logf("\n%s", try(t, chosen))
}

// try tries the rows, and runs their tests on the code as it is. It returns the results as a table.
func try(t *testing.T, rows []row) string {
	root := repository(t)
	lines := make([]string, len(rows))
	each(len(rows), func(n int) {
		r := rows[n]
		by, count := "nobody can: "+r.equivalent, "-"
		if r.equivalent == "" {
			killed, problem := hunt(t.Context(), root, t.TempDir(), r)
			if problem != "" {
				t.Errorf("%s (%s): %s", r.name, r.rule, problem)
			}
			by, count = r.pkg+" "+r.test, fmt.Sprintf("%d of %d", killed, runs)
		}
		lines[n] = fmt.Sprintf("%-42s | %-88s | %-70s | %s\n", r.name, r.rule, by, count)
	})
	twins(t, root, rows)
	return fmt.Sprintf("%-42s | %-88s | %-70s | %s\n", "mutant", "rule", "killed by", "runs") + strings.Join(lines, "")
}

// hunt runs the row's test on the mutant. It returns how many runs killed the mutant, and what is
// wrong unless all runs did.
func hunt(ctx context.Context, root, dir string, r row) (killed int, problem string) {
	binary, err := r.edit().Compile(ctx, root, r.pkg, dir)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = os.Remove(binary) }()
	for range runs {
		verdict, out, err := mutants.Judge(ctx, binary, root, r.pkg, r.test, patience)
		switch {
		case err != nil:
			problem += fmt.Sprintf("%v\n%s\n", err, out)
		case verdict == mutants.Killed:
			killed++
		default:
			problem += fmt.Sprintf("%s %s by %s\n%s\n", r.pkg, verdict, r.test, tail(out))
		}
	}
	return killed, problem
}

// twins checks that every test that the rows name passes on the code as it is, in as many runs.
func twins(t *testing.T, root string, rows []row) {
	tests := map[string][]string{} // by package
	var packages []string
	for _, r := range rows {
		if r.equivalent != "" || slices.Contains(tests[r.pkg], r.test) {
			continue
		}
		if tests[r.pkg] == nil {
			packages = append(packages, r.pkg)
		}
		tests[r.pkg] = append(tests[r.pkg], r.test)
	}
	each(len(packages), func(n int) {
		pkg := packages[n]
		binary, err := mutants.Edit{}.Compile(t.Context(), root, pkg, t.TempDir())
		if err != nil {
			t.Errorf("%s as it is: %v", pkg, err)
			return
		}
		defer func() { _ = os.Remove(binary) }()
		for _, test := range tests[pkg] {
			for range runs {
				verdict, out, err := mutants.Judge(t.Context(), binary, root, pkg, test, patience)
				if err != nil || verdict != mutants.Survived {
					t.Errorf("%s %s finds something wrong with the code as it is: %v %v\n%s", pkg, test, verdict, err, tail(out))
				}
			}
		}
	})
}

// each calls f for 0 to n-1, on as many goroutines as there are processors.
func each(n int, f func(int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}

func tail(out string) string { return out[max(0, len(out)-2000):] }

func repository(t *testing.T) string {
	t.Helper()
	root, err := mutants.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// TestRowsFit checks that every row fits the code: its old text occurs exactly once, and its test exists.
func TestRowsFit(t *testing.T) {
	root := repository(t)
	seen := map[string]bool{}
	for _, r := range table {
		if seen[r.name] {
			t.Errorf("two rows are named %s", r.name)
		}
		seen[r.name] = true
		for _, problem := range misfits(root, r) {
			t.Errorf("%s: %s", r.name, problem)
		}
	}
	for _, name := range sample {
		if !seen[name] {
			t.Errorf("%s is in the sample and not in the table", name)
		}
	}
}

// misfits says what is wrong with a row without running it.
func misfits(root string, r row) (wrong []string) {
	if r.rule == "" {
		wrong = append(wrong, "names no rule")
	}
	if _, err := r.edit().Apply(root); err != nil {
		wrong = append(wrong, err.Error())
	}
	switch named := r.pkg != "" && r.test != ""; {
	case named == (r.equivalent != ""):
		wrong = append(wrong, "needs either a test that kills it or a proof that none can")
	case named && !hasTest(root, r.pkg, r.test):
		wrong = append(wrong, fmt.Sprintf("%s has no %s", r.pkg, r.test))
	}
	return wrong
}

// hasTest says whether the package's tests declare the test, or for a subtest its parent.
func hasTest(root, pkg, test string) bool {
	test, _, _ = strings.Cut(test, "/")
	declares := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(test) + `\(`)
	files, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*_test.go")) // the pattern is sound
	return slices.ContainsFunc(files, func(name string) bool {
		text, err := os.ReadFile(name)
		return err == nil && declares.Match(text)
	})
}
