//go:build linux

package deadman

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
)

// TestNothingInTheGroupOutlivesTheProgram checks that a program has a control group of its own, and is not dead while
// anything lives in it, although that descends from nobody that we know.
func TestNothingInTheGroupOutlivesTheProgram(t *testing.T) {
	divided(t)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	p, err := Start(t.Context(), Program{Path: "/bin/sleep", Args: []string{"sleep", "300"}, Files: []*os.File{null, null, null}}, clock.Boottime().Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	procs, err := os.ReadFile(filepath.Join(p.within, "cgroup.procs"))
	if want := "\n" + strconv.Itoa(p.Pid()) + "\n"; err != nil || !strings.Contains("\n"+string(procs), want) {
		t.Errorf("the program %d is not in its group: %q %v", p.Pid(), procs, err)
	}
	stranger := strangerIn(t, p.group)
	before := clock.Boottime().Now()
	p.Kill()
	p.Wait()
	if alive(stranger) {
		t.Error("a process in the program's group lives on")
	}
	if _, err := os.Stat(p.group); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group is still there: %v", err)
	}
	if p.Ended() < before {
		t.Errorf("it ended at %v, before it was killed at %v", p.Ended(), before)
	}
}

// divided gives this process a control group, until the test ends.
func divided(t *testing.T) {
	t.Helper()
	g, _, err := cgroup.Divide(cgroup.Always)
	if err != nil {
		t.Skip(err)
	}
	Within(g.Path, g.Trees)
	t.Cleanup(func() {
		Within("", cgroup.Trees{})
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	})
}

// strangerIn puts a process into a group that descends from nobody there, and returns its process id.
func strangerIn(t *testing.T, group string) int {
	t.Helper()
	stranger := exec.Command("sleep", "300")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stranger.Process.Kill()
		_ = stranger.Wait()
	})
	pid := stranger.Process.Pid
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
		t.Fatal(err)
	}
	return pid
}

// TestTheGroupEndsWithoutUs checks that what lives in a program's control group ends by the program's instant although this process does
// nothing, as if it were frozen: its supervisor kills that although the guard is frozen, too, and the guard if the supervisor is gone.
func TestTheGroupEndsWithoutUs(t *testing.T) {
	divided(t)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for what, strike := range map[string]func(*Process) error{
		"the supervisor": func(p *Process) error { return unix.Kill(p.Guard(), unix.SIGSTOP) },
		"the guard":      func(p *Process) error { return unix.Kill(p.Supervisor(), unix.SIGKILL) },
	} {
		for _, c := range []Confinement{{}, {Limits: []Limit{{OpenFiles, 64, 64}}}} {
			program := Program{Path: "/bin/sleep", Args: []string{"sleep", "300"}, Files: []*os.File{null, null, null}, Confinement: c}
			p := newProcess()
			if err := p.start(program); err != nil {
				t.Fatal(err)
			}
			if err := p.begin(program.job(p, clock.Boottime().Now().Add(time.Hour))); err != nil {
				t.Fatal(err)
			}
			stranger := strangerIn(t, p.within)
			if err := strike(p); err != nil {
				t.Fatal(err)
			}
			p.order(extend, clock.Boottime().Now(), clock.Boottime().Now().Add(time.Second))
			patience, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			for alive(stranger) && clock.Wait(patience, time.Millisecond) {
			}
			cancel()
			lives := alive(stranger)
			_ = unix.Kill(p.Guard(), unix.SIGCONT)
			p.following.Go(p.follow)
			p.Wait()
			if lives {
				t.Fatalf("%s leaves a process alive in the group; %+v", what, c)
			}
		}
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
