package mutants_test

import (
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/mutants"
)

const (
	followFile = "pkg/election/internal/follow/follow.go"
	followPkg  = "pkg/election/internal/follow"
)

// TestJudgeBites plants mutants whose verdicts we know.
func TestJudgeBites(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a test binary for each mutant")
	}
	const old = "	breaks := 0\n"
	root := repository(t)
	for _, tt := range []struct {
		name, new, test string
		patience        time.Duration
		want            mutants.Verdict // zero: it does not compile
	}{
		{"nothing changes", old + "	// as it was\n", "TestRun", patience, mutants.Survived},
		{"a rule breaks", "	breaks := 7\n", "TestRun", patience, mutants.Killed},
		{"in a subtest", "	breaks := 7\n", "TestRun/jitter_shortens_a_wait_by_up_to_half", patience, mutants.Killed},
		{"out of a subtest's sight", old + "	// as it was\n", "TestRun/jitter_shortens_a_wait_by_up_to_half", patience, mutants.Survived},
		{"another test looks away", "	breaks := 7\n", "TestOnly", patience, mutants.Survived},
		{"it panics", old + "	panic(\"planted\")\n", "TestRun", patience, mutants.Killed},
		{"it hangs", old + "	for breaks == 0 {\n	}\n", "TestRun", time.Second, mutants.Hung},
		{"no such test", "	breaks := 7\n", "TestThatIsNot", patience, mutants.NotRun},
		{"no such subtest", "	breaks := 7\n", "TestRun/that_is_not", patience, mutants.NotRun},
		{"it does not compile", "	breaks := none\n", "TestRun", patience, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			edit := mutants.Edit{File: followFile, Old: old, New: tt.new}
			binary, err := edit.Compile(t.Context(), root, followPkg, t.TempDir())
			if tt.want == 0 {
				if err == nil || !strings.Contains(err.Error(), "does not compile") {
					t.Errorf("want a mutant that does not compile, got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, out, err := mutants.Judge(t.Context(), binary, root, followPkg, tt.test, tt.patience); got != tt.want || err != nil {
				t.Errorf("got %v, %v, want %v\n%s", got, err, tt.want, out)
			}
		})
	}
}

// TestStaleRows plants rows that do not fit the code.
func TestStaleRows(t *testing.T) {
	root := repository(t)
	fits := row{
		name: "planted", rule: "planted", file: followFile, old: "breaks := 0", new: "breaks := 7",
		pkg: followPkg, test: "TestRun",
	}
	if wrong := misfits(root, fits); len(wrong) > 0 {
		t.Fatalf("a row that fits: %q", wrong)
	}
	for _, tt := range []struct {
		name string
		spot func(*row)
		want string
	}{
		{"the code has moved on", func(r *row) { r.old = "breaks := minusOne" }, "the mutant replaces 0 times"},
		{"more than one place", func(r *row) { r.old = "err != nil" }, "times, want once"},
		{"nothing changes", func(r *row) { r.new = r.old }, "changes nothing"},
		{"no such file", func(r *row) { r.file = "pkg/election/internal/follow/none.go" }, "no such file"},
		{"no such test", func(r *row) { r.test = "TestThatIsNot" }, "has no TestThatIsNot"},
		{"no such package", func(r *row) { r.pkg = "pkg/none" }, "has no TestRun"},
		{"neither test nor proof", func(r *row) { r.test = "" }, "needs either"},
		{"test and proof", func(r *row) { r.equivalent = "planted" }, "needs either"},
		{"no rule", func(r *row) { r.rule = "" }, "names no rule"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := fits
			tt.spot(&r)
			if wrong := strings.Join(misfits(root, r), "\n"); !strings.Contains(wrong, tt.want) {
				t.Errorf("found %q, want %q", wrong, tt.want)
			}
		})
	}
}

// TestSurvivorsAreTold plants a row whose test cannot fail, and checks that hunt reports the survivor.
func TestSurvivorsAreTold(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a test binary for each mutant")
	}
	r := row{name: "planted", rule: "planted", file: followFile, old: "	breaks := 0\n", new: "	breaks := 0 // as it was\n", pkg: followPkg, test: "TestRun"}
	killed, problem := hunt(t.Context(), repository(t), t.TempDir(), r)
	if killed != 0 || strings.Count(problem, "survived by TestRun") != runs {
		t.Errorf("killed %d times, problem %q", killed, problem)
	}
}
