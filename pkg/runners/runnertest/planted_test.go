//go:build linux

package runnertest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/primacy-dev/primacy/pkg/election"
)

// plantVariable names the faulty kind of runner on which a test binary runs the suite.
const plantVariable = "RUNNERTEST_PLANT"

func TestMain(m *testing.M) {
	Become()
	BecomeManager(func(w Work) (election.Runner, error) {
		return election.RunnerFunc(func(context.Context, election.Term) error { return unwatched(w) }), nil
	})
	if plant := os.Getenv(plantVariable); plant != "" {
		patience = 500 * time.Millisecond
		if plant == unwatchedPlant {
			patience = 2 * managed // enough for processes to begin
		}
		os.Exit(m.Run())
	}
	goleak.VerifyTestMain(m)
}

// planted are faulty runners, each with the case of the suite that must notice.
var planted = map[string]struct {
	notices string
	acts    []Act
	run     func(ctx context.Context, term election.Term, w Work) error
}{
	"returns before its work has stopped": {"stops_when_cancelled", InProcess,
		func(ctx context.Context, term election.Term, w Work) error {
			if _, err := Enter(w.Pipe); err != nil {
				return err
			}
			return w.Run(ctx, term)
		}},
	"does not stop": {"stops_when_cancelled", InProcess,
		func(ctx context.Context, term election.Term, w Work) error {
			return w.Run(context.WithoutCancel(ctx), term)
		}},
	"works though it is cancelled": {"does_nothing_when_cancelled_before", InProcess,
		func(ctx context.Context, term election.Term, w Work) error {
			return w.Run(context.WithoutCancel(ctx), term)
		}},
	"knows another term": {"stops_when_cancelled", InProcess,
		func(ctx context.Context, term election.Term, w Work) error {
			term.Token++
			return w.Run(ctx, term)
		}},
	"keeps extensions to itself": {"passes_extensions_on", InProcess,
		func(ctx context.Context, term election.Term, w Work) error {
			short, _ := election.NewTerm(term, 0)
			return w.Run(ctx, short)
		}},
	"says nothing of a crash": {"reports_work_that_ends_by_itself", InProcess,
		func(ctx context.Context, term election.Term, w Work) error {
			_ = w.Run(ctx, term)
			return nil
		}},
	"gives no grace":            {"kills_after_the_grace", []Act{Ignore}, ignore},
	"lets the deadline pass":    {"kills_at_the_deadline", []Act{Ignore}, ignore},
	"starts after the deadline": {"does_nothing_after_the_deadline", []Act{Ignore}, ignore},
}

// ignore ends at once when told to stop, so it looks like work that was killed.
func ignore(ctx context.Context, _ election.Term, w Work) error {
	tell, err := Enter(w.Pipe)
	if err != nil {
		return err
	}
	defer tell.Leave()
	tell.Event("began")
	<-ctx.Done()
	tell.Event("ignored")
	return nil
}

func TestPlanted(t *testing.T) {
	p, ok := planted[os.Getenv(plantVariable)]
	if !ok {
		t.Skip("run by TestSuiteNotices")
	}
	Test(t, Kind{Acts: p.acts, New: func(_ *testing.T, w Work) election.Runner {
		return election.RunnerFunc(func(ctx context.Context, term election.Term) error { return p.run(ctx, term, w) })
	}})
}

func TestSuiteNotices(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range planted {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(self, "-test.run=^TestPlanted$/^"+p.notices+"$", "-test.v")
			cmd.Env = append(os.Environ(), plantVariable+"="+name)
			out, err := cmd.CombinedOutput()
			if err == nil || !bytes.Contains(out, []byte("--- FAIL: TestPlanted/"+p.notices)) {
				t.Errorf("the suite notices nothing (%v):\n%s", err, out)
			}
		})
	}
}

// unwatchedPlant selects a kind whose work has no watcher.
const unwatchedPlant = "unwatched"

// unwatched runs the work without a supervisor, so that nobody kills it.
func unwatched(w Work) error {
	program, err := w.Program()
	if err != nil {
		return err
	}
	cmd := exec.Command(program)
	cmd.Env = os.Environ()
	for name, value := range w.Env() {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Wait()
}

func TestPlantedRights(t *testing.T) {
	if os.Getenv(plantVariable) == "" {
		t.Skip("run by TestRightsNotices")
	}
	TestRights(t)
}

// TestRightsNotices checks that TestRights notices work that lives though its member is frozen, and
// work that runs though it must not.
func TestRightsNotices(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs what TestRights needs")
	}
	for cell, notice := range map[string]string{"^root$/^frozen$": "work is left on the stage", "^root_without_CAP_KILL$": "it refuses nothing"} {
		t.Run(cell, func(t *testing.T) {
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestPlantedRights$/"+cell, "-test.v")
			cmd.Env = append(os.Environ(), plantVariable+"="+unwatchedPlant)
			out, err := cmd.CombinedOutput()
			if err == nil || !bytes.Contains(out, []byte(notice)) {
				t.Errorf("it notices nothing (%v):\n%s", err, out)
			}
		})
	}
}

func TestStageSeesAnOrphan(t *testing.T) {
	s := NewStage(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	orphan := exec.Command(self)
	for name, value := range (Work{Act: Ignore, Pipe: s.Pipe}).Env() {
		orphan.Env = append(orphan.Env, name+"="+value)
	}
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	s.Await("began")
	if !s.Alive() {
		t.Error("the stage does not see a process that lives")
	}
	if err := orphan.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := orphan.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the orphan ended otherwise: %v", err)
	}
	if s.Alive() {
		t.Error("the stage sees a process that is dead")
	}
}
