//go:build linux

package parent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup/cgrouptest"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
	"github.com/primacy-dev/primacy/pkg/runners/parent"
)

// housed is a member that runs a program which takes all memory that it gets, and lives on.
func housed(l *parent.Line) int {
	own, err := cgroup.Own()
	write("own", fmt.Sprintf("%s %v", strings.TrimPrefix(own, l.Cgroup), err))
	above, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", os.Getppid()))
	write("parent", fmt.Sprintf("%s %v", filepath.Base(strings.TrimSpace(string(above))), err))
	trees := deadman.Trees()
	write("trees", fmt.Sprintf("%v %s", trees.Held, trees.Why))
	if len(trees.Held) == 2 {
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			panic(err)
		}
		p, err := deadman.Start(context.Background(), deadman.Program{
			Path: "/usr/bin/tail", Args: []string{"tail", "/dev/zero"}, Files: []*os.File{null, null, os.Stderr},
			Confinement: deadman.Confinement{Tree: cgroup.Limits{Memory: 32 << 20}},
		}, clock.Boottime().Now().Add(time.Minute))
		if err != nil {
			panic(err)
		}
		write("program", p.Wait().OutOfMemory())
	}
	write("group", l.Cgroup)
	return waits(l)
}

// TestAMemberInADelegatedGroup checks that parent and member leave the delegated group to themselves, as the kernel wants it,
// so that programs can have limits; that such a limit kills the program alone; and that the death of the member is proved as
// ever.
func TestAMemberInADelegatedGroup(t *testing.T) {
	divisible(t)
	own, err := cgroup.Own()
	if err != nil {
		t.Fatal(err)
	}
	above := filepath.Dir(own) // the test itself is in own
	_ = os.WriteFile(filepath.Join(above, "cgroup.subtree_control"), []byte("+memory +pids"), 0)
	top, err := os.MkdirTemp(above, "test-")
	if err != nil {
		t.Skip(err)
	}
	folder, err := os.Open(top)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = folder.Close()
		if err := cgroup.Clear(top); err != nil {
			t.Error(err)
		}
	}()
	has, err := os.ReadFile(filepath.Join(top, "cgroup.controllers"))
	if err != nil {
		t.Fatal(err)
	}
	p := newProgram(t, "housed")
	p.cmd.Env = append(p.cmd.Env, cgroupVariable+"="+string(cgroup.Always))
	p.cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(folder.Fd())}
	p.start()
	group := p.anything("group")
	p.wants("own", "/member <nil>")
	if strings.Contains(string(has), "memory") && strings.Contains(string(has), "pids") {
		p.wants("trees", "[memory pids] ")
		p.wants("parent", "primacy.parents <nil>")
		p.wants("program", "true")
	} else {
		t.Logf("the controllers here are %q", has)
		p.wants("parent", filepath.Base(top)+" <nil>")
	}
	if err := unix.Kill(p.member(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.status()
	p.wants("population", "populated 0 <nil>")
	if _, err := os.Stat(group); err == nil {
		t.Error("the parent has left its group")
	}
}

// TestWhereNoGroupCanBeMade checks that a member goes without a control group where its parent can make none in the delegated
// one, and knows why its programs have no limits together with all that they start.
func TestWhereNoGroupCanBeMade(t *testing.T) {
	divisible(t)
	own, err := cgroup.Own()
	if err != nil {
		t.Fatal(err)
	}
	top, err := os.MkdirTemp(filepath.Dir(own), "test-") // the test itself is in own
	if err != nil {
		t.Skip(err)
	}
	folder, err := os.Open(top)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = folder.Close()
		if err := cgroup.Clear(top); err != nil {
			t.Error(err)
		}
	}()
	if err := errors.Join(unix.Setxattr(top, "trusted.delegate", []byte("1"), 0), os.WriteFile(filepath.Join(top, "cgroup.max.descendants"), []byte("0"), 0)); err != nil {
		t.Skip(err)
	}
	p := newProgram(t, "housed")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(folder.Fd())}
	p.start()
	p.await("ready", "")
	p.wants("group", "")
	if trees := p.text("trees"); !strings.HasPrefix(trees, "[] "+cgroup.ErrIndivisible.Error()+": mkdir "+top) {
		t.Errorf("the limits of its programs: %q", trees)
	}
	_ = unix.Kill(p.member(), unix.SIGKILL)
	p.status()
}

// TestInAKernelOfItsOwn runs the tests of groups where memory and processes can be limited.
func TestInAKernelOfItsOwn(t *testing.T) {
	cgrouptest.Boot(t,
		"TestAMemberInADelegatedGroup", "TestNothingInTheGroupOutlivesTheProof", "TestWhatIsKilledWithItsParent",
		"TestAnOrphanMayLeave")
}
