//go:build linux

package parent_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup/cgrouptest"
)

// TestNothingInTheGroupOutlivesTheProof checks that the parent kills and awaits what is in its member's control group,
// although it does not descend from the member: nothing tells it apart otherwise.
func TestNothingInTheGroupOutlivesTheProof(t *testing.T) {
	divisible(t)
	p := grouped(t)
	group := p.anything("group")
	stranger := exec.Command("sleep", "1000")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(stranger.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(p.member(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.status()
	p.wants("population", "populated 0 <nil>")
	_ = stranger.Process.Kill()
	_ = stranger.Wait()
	if _, err := os.Stat(group); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the parent has left its group: %v", err)
	}
}

// TestWhatIsKilledWithItsParent checks that the next parent in the same place kills what a member and its parent left, when
// both were killed, and tells its own member which sessions that ended, and no others.
func TestWhatIsKilledWithItsParent(t *testing.T) {
	divisible(t)
	first, living := grouped(t), grouped(t)
	group := first.anything("group")
	living.anything("group")
	stranger := exec.Command("sleep", "1000")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = stranger.Process.Kill()
		_ = stranger.Wait()
	}()
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(stranger.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	_ = unix.Kill(first.cmd.Process.Pid, unix.SIGKILL)
	_ = unix.Kill(first.member(), unix.SIGKILL)
	first.status()
	next := grouped(t)
	next.anything("group")
	next.wants("left", "[{slot-0 a_2}]")
	if _, err := os.Stat(group); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group of the dead is still there: %v", err)
	}
	living.wants("left", "[]")
	if err := unix.Kill(living.member(), 0); err != nil {
		t.Errorf("the member beside it: %v", err)
	}
}

// TestWhatCannotBeKilled checks that a member starts beside something of a dead one that nobody can kill, is told of it, and takes
// it for no proof.
func TestWhatCannotBeKilled(t *testing.T) {
	divisible(t)
	first := grouped(t)
	group := first.anything("group")
	hangs, release := cgrouptest.Unkillable(t)
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(hangs.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	_ = unix.Kill(first.cmd.Process.Pid, unix.SIGKILL)
	_ = unix.Kill(first.member(), unix.SIGKILL)
	first.status()
	second := grouped(t)
	second.anything("group")
	second.wants("left", "[]")
	if told := second.text("lives on"); !strings.Contains(told, group) {
		t.Errorf("it was told that %q lives on, want %s", told, group)
	}
	release()
	third := grouped(t)
	third.anything("group")
	third.wants("left", "[{slot-0 a_2}]")
	third.wants("lives on", "[]")
}

// TestAnOrphanMayLeave checks that the next parent in the same place lets a member leave in order whose own parent died.
func TestAnOrphanMayLeave(t *testing.T) {
	divisible(t)
	orphan := grouped(t)
	orphan.anything("group")
	_ = unix.Kill(orphan.cmd.Process.Pid, unix.SIGKILL)
	_, _ = orphan.cmd.Process.Wait() // the orphan keeps the parent's outputs
	next := grouped(t)
	next.anything("first")
	if next.within(time.Second, func() bool { return next.text("group") != "" }) {
		t.Error("the next member did not wait for the orphan")
	}
	_ = unix.Kill(orphan.member(), unix.SIGUSR1)
	next.anything("group")
	orphan.wants("leaving", "in order")
}

// grouped starts a member with a control group of its own.
func grouped(t *testing.T) *program {
	t.Helper()
	p := newProgram(t, "grouped")
	p.cmd.Env = append(p.cmd.Env, cgroupVariable+"="+string(cgroup.Always))
	return p.start()
}

// divisible skips the test where no control group can be made.
func divisible(t *testing.T) {
	t.Helper()
	g, _, err := cgroup.Divide(cgroup.Always)
	if err != nil {
		t.Skip(err)
	}
	if err := g.Remove(); err != nil {
		t.Fatal(err)
	}
}
