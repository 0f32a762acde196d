//go:build linux

package deadman

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
)

// TestNothingInTheGroupOutlivesTheProgram checks that a program has a control group of its own, and is not dead while
// anything lives in it, although that descends from nobody that we know.
func TestNothingInTheGroupOutlivesTheProgram(t *testing.T) {
	g, _, err := cgroup.Divide(cgroup.Always)
	if err != nil {
		t.Skip(err)
	}
	Within(g.Path, g.Trees)
	defer func() {
		Within("", cgroup.Trees{})
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	}()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	p, err := Start(t.Context(), Program{Path: "/bin/sleep", Args: []string{"sleep", "300"}, Files: []*os.File{null, null, null}}, clock.Boottime().Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	procs, err := os.ReadFile(filepath.Join(p.group, "cgroup.procs"))
	if want := "\n" + strconv.Itoa(p.Pid()) + "\n"; err != nil || !strings.Contains("\n"+string(procs), want) {
		t.Errorf("the program %d is not in its group: %q %v", p.Pid(), procs, err)
	}
	stranger := exec.Command("sleep", "300")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = stranger.Process.Kill()
		_ = stranger.Wait()
	}()
	if err := os.WriteFile(filepath.Join(p.group, "cgroup.procs"), []byte(strconv.Itoa(stranger.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	before := clock.Boottime().Now()
	p.Kill()
	p.Wait()
	if alive(stranger.Process.Pid) {
		t.Error("a process in the program's group lives on")
	}
	if _, err := os.Stat(p.group); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group is still there: %v", err)
	}
	if p.Ended() < before {
		t.Errorf("it ended at %v, before it was killed at %v", p.Ended(), before)
	}
}

// TestWhereNoGroupCanBeMade checks that a program runs without a control group where it can have none.
func TestWhereNoGroupCanBeMade(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for what, folder := range map[string]string{"no folder": filepath.Join(t.TempDir(), "absent"), "a folder that is no group": t.TempDir()} {
		Within(folder, cgroup.Trees{})
		p, err := Start(t.Context(), Program{Path: "/bin/true", Args: []string{"true"}, Files: []*os.File{null, null, null}}, clock.Boottime().Now().Add(time.Minute))
		Within("", cgroup.Trees{})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if p.Wait(); p.group != "" {
			t.Errorf("%s: it has the group %s", what, p.group)
		}
	}
}
