//go:build linux

package cgroup_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup/cgrouptest"
)

// above is the group above the private one of these tests.
func above(t *testing.T) string {
	t.Helper()
	own, err := cgroup.Own()
	if err != nil {
		t.Skip(err)
	}
	return filepath.Dir(own)
}

// spare is a controller that this machine has, and the file of its limit. Where the usual ones are those of version 1, it is
// one that we do not use otherwise.
func spare(t *testing.T) (c cgroup.Controller, file string) {
	t.Helper()
	has, err := os.ReadFile(filepath.Join(above(t), "cgroup.controllers"))
	if err != nil {
		t.Skip(err)
	}
	for _, s := range []struct{ name, file string }{{"memory", "memory.max"}, {"hugetlb", "hugetlb.2MB.max"}, {"pids", "pids.max"}} {
		if slices.Contains(strings.Fields(string(has)), s.name) {
			return cgroup.Controller(s.name), s.file
		}
	}
	t.Skipf("the controllers here are %q", has)
	return "", ""
}

// delegate makes a group as a service manager does, with the controller c, and returns its path.
func delegate(t *testing.T, c cgroup.Controller) string {
	t.Helper()
	root := above(t)
	control := filepath.Join(root, "cgroup.subtree_control")
	had, err := os.ReadFile(control)
	if err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(control, []byte("+"+string(c)), 0); err != nil {
		t.Skip(err)
	}
	path, err := os.MkdirTemp(root, "test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		_ = cgroup.Clear(path)
		if !slices.Contains(strings.Fields(string(had)), string(c)) {
			_ = os.WriteFile(control, []byte("-"+string(c)), 0)
		}
	})
	return path
}

// enter moves this process into the group top until the test ends.
func enter(t *testing.T, top string) {
	t.Helper()
	home, err := cgroup.Own()
	if err != nil {
		t.Fatal(err)
	}
	if err := cgroup.Enter(top); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = cgroup.Enter(home) })
}

// TestTheParentMakesWay checks that controllers come down to the programs' groups, though the kernel gives them to no group
// that has processes of its own: the parent moves aside.
func TestTheParentMakesWay(t *testing.T) {
	c, file := spare(t)
	top := delegate(t, c)
	enter(t, top)
	path := filepath.Join(top, "primacy-1")
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if trees := cgroup.Subdivide(top, path, c); !slices.Equal(trees.Held, []cgroup.Controller{c}) || trees.Why != "" {
		t.Fatalf("held: %v, since %q", trees.Held, trees.Why)
	}
	if own, err := cgroup.Own(); err != nil || own != filepath.Join(top, "primacy.parents") {
		t.Errorf("the parent is in %s: %v", own, err)
	}
	if err := os.Mkdir(filepath.Join(path, "program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(path, "program", file)); err != nil {
		t.Error(err)
	}
}

// TestOthersAreNotMoved checks that processes in the delegated group that are not ours stay where they are, and so does the
// parent: there are no limits of trees then.
func TestOthersAreNotMoved(t *testing.T) {
	c, _ := spare(t)
	top := delegate(t, c)
	enter(t, top)
	stranger := exec.Command("sleep", "1000")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = stranger.Process.Kill()
		_ = stranger.Wait()
	}()
	path := filepath.Join(top, "primacy-1")
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if trees := cgroup.Subdivide(top, path, c); len(trees.Held) > 0 || !strings.Contains(trees.Why, "has other processes") {
		t.Errorf("held: %v, since %q", trees.Held, trees.Why)
	}
	if own, err := cgroup.Own(); err != nil || own != top {
		t.Errorf("the parent is in %s: %v", own, err)
	}
	if _, err := os.Stat(filepath.Join(top, "primacy.parents")); err == nil {
		t.Error("it left a group")
	}
}

// TestMissingControllers checks that the reason is told where nobody hands the controllers down.
func TestMissingControllers(t *testing.T) {
	c, _ := spare(t)
	top := delegate(t, c)
	path := filepath.Join(top, "primacy-1")
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	trees := cgroup.Subdivide(top, path, "rdma", c)
	if want := "rdma: " + top + " does not have this controller"; trees.Why != want || !slices.Equal(trees.Held, []cgroup.Controller{c}) {
		t.Errorf("held: %v, since %q, want %q", trees.Held, trees.Why, want)
	}
}

// TestLimitsComeFirst checks that a group has its limits when it is handed to a program, that the program's watchers are
// not in it, and that nothing is left where a limit cannot be set.
func TestLimitsComeFirst(t *testing.T) {
	c, file := spare(t)
	top := delegate(t, c)
	if trees := cgroup.Subdivide(filepath.Dir(top), top, c); trees.Why != "" {
		t.Fatal(trees.Why)
	}
	const most = "33554432"
	folder, work, within, err := cgroup.LimitedBy(top, c, file, most)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if text, err := os.ReadFile(filepath.Join(within, file)); err != nil || strings.TrimSpace(string(text)) != most {
		t.Errorf("the limit is %q: %v", text, err)
	}
	if filepath.Dir(within) != work || filepath.Dir(folder.Name()) != work || folder.Name() == within {
		t.Errorf("the program is in %s, its watchers in %s, of %s", within, folder.Name(), work)
	}
	if _, err := os.Stat(filepath.Join(folder.Name(), file)); err == nil {
		if text, err := os.ReadFile(filepath.Join(folder.Name(), file)); err != nil || strings.TrimSpace(string(text)) == most {
			t.Errorf("the limit of the watchers is %q: %v", text, err)
		}
	}
	if lived, err := cgroup.End(work); lived || err != nil {
		t.Errorf("end: %v %v", lived, err)
	}
	if _, _, _, err := cgroup.LimitedBy(top, c, file, "many"); err == nil {
		t.Error("a limit that the kernel refuses was not an error")
	}
	if _, _, _, err := cgroup.LimitedBy(top, "rdma", "rdma.max", "0"); err == nil {
		t.Error("a controller that is not there was not an error")
	}
	if left, err := filepath.Glob(filepath.Join(top, "work-*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

// TestPlaces checks which group is divided.
func TestPlaces(t *testing.T) {
	home, err := cgroup.Own()
	if err != nil {
		t.Skip(err)
	}
	for _, tt := range []struct {
		what, own string
		marked    bool
		want      string
	}{
		{"a unit", "primacy.service", true, "primacy.service"},
		{"a group within a unit (DelegateSubgroup=)", "primacy.service/main", true, "primacy.service"},
		{"a unit below a user's service manager", "user@1.service/primacy.service", true, ""},
		{"nothing delegated", "primacy.service/main", false, ""},
	} {
		t.Run(tt.what, func(t *testing.T) {
			base, err := os.MkdirTemp(home, "test-")
			if err != nil {
				t.Skip(err)
			}
			defer func() { _ = cgroup.Clear(base) }()
			unit := filepath.Join(base, strings.Split(tt.own, "/")[0])
			if err := os.MkdirAll(filepath.Join(base, tt.own), 0o755); err != nil {
				t.Fatal(err)
			}
			if tt.marked {
				if err := unix.Setxattr(unit, "trusted.delegate", []byte("1"), 0); err != nil {
					t.Skip(err)
				}
			}
			if err := cgroup.Enter(filepath.Join(base, tt.own)); err != nil {
				t.Fatal(err)
			}
			top, is, err := cgroup.Place()
			if err := cgroup.Enter(home); err != nil {
				t.Fatal(err)
			}
			if err != nil || is != (tt.want != "") || is && top != filepath.Join(base, tt.want) {
				t.Errorf("%s, delegated: %v, %v", top, is, err)
			}
		})
	}
}

// TestInAKernelOfItsOwn runs the tests of this package where memory and processes can be limited.
func TestInAKernelOfItsOwn(t *testing.T) {
	cgrouptest.Boot(t,
		"TestGroup", "TestAnotherGroupAtTheSamePath", "TestWhatADeadMakerLeft", "TestModes", "TestTheParentMakesWay",
		"TestOthersAreNotMoved", "TestMissingControllers", "TestLimitsComeFirst", "TestPlaces")
}

// TestWhoseMemoryWasUsedUp checks that a program's own limit is told from memory that others used up.
func TestWhoseMemoryWasUsedUp(t *testing.T) {
	for _, tt := range []struct {
		memory, processes string
		want              cgroup.Hits
	}{
		{"low 0\nhigh 0\nmax 31\noom 1\noom_kill 3\noom_group_kill 1\n", "max 0\n", cgroup.Hits{Killed: 3}},
		{"low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\noom_group_kill 1\n", "max 7\n", cgroup.Hits{Killed: 1, Beyond: true, Refused: 7}},
		{"low 0\nhigh 0\nmax 12\noom 0\noom_kill 0\n", "", cgroup.Hits{}},
		{"", "", cgroup.Hits{}},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"memory.events": tt.memory, "pids.events": tt.processes} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := cgroup.HitsOf(dir); got != tt.want {
			t.Errorf("%q %q: %+v, want %+v", tt.memory, tt.processes, got, tt.want)
		}
	}
}
