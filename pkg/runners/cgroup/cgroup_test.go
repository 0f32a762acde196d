//go:build linux

package cgroup_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup/cgrouptest"
)

// holderVariable makes this test binary a process that makes a group, starts a program in it, and waits.
const holderVariable = "CGROUP_TEST_HOLDER"

func TestMain(m *testing.M) {
	if os.Getenv(holderVariable) == "" {
		leave := cgrouptest.Private()
		status := m.Run()
		leave()
		os.Exit(status)
	}
	g, _, err := cgroup.Divide(cgroup.Always)
	if err != nil {
		os.Exit(3)
	}
	if cgroup.Note(g.Path, []byte("first")) != nil || cgroup.Join(cgroup.MemberOf(g.Path)) != nil || cgroup.Note(g.Path, []byte("second")) != nil {
		os.Exit(4)
	}
	sleep := exec.Command("sleep", "1000")
	if sleep.Start() != nil {
		os.Exit(5)
	}
	_, _ = os.Stdout.WriteString(g.Path + "\n")
	_ = sleep.Wait()
	g.Close() // until here it holds the lock
}

// move moves a process into a group.
func move(t *testing.T, c *exec.Cmd, path string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(path, "cgroup.procs"), []byte(strconv.Itoa(c.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
}

func divide(t *testing.T) (*cgroup.Group, []string) {
	t.Helper()
	g, found, err := cgroup.Divide(cgroup.Always)
	if errors.Is(err, cgroup.ErrIndivisible) {
		t.Skipf("%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.KillAll() })
	var left []string
	for _, note := range found.Notes {
		left = append(left, string(note))
	}
	return g, left
}

func wantEmpty(t *testing.T, g *cgroup.Group, want bool) {
	t.Helper()
	if empty, err := g.Empty(); err != nil || empty != want {
		t.Errorf("empty: %v %v, want %v", empty, err, want)
	}
}

// TestGroup checks what a group says of its processes, and that it kills all of them, even those that nobody could
// tell by descent.
func TestGroup(t *testing.T) {
	g, _ := divide(t)
	wantEmpty(t, g, true)
	first, second := exec.Command("sleep", "1000"), exec.Command("sleep", "1000")
	for _, c := range []*exec.Cmd{first, second} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	below := filepath.Join(g.Path, "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	move(t, first, cgroup.MemberOf(g.Path))
	move(t, second, below)
	_ = first.Process.Kill()
	_ = first.Wait()
	wantEmpty(t, g, false)
	if err := g.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := second.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the process in the group below: %v", err)
	}
	wantEmpty(t, g, true)
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(g.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestAGroupThatStays checks that a group has ended, and its note counts once, although it cannot be removed.
func TestAGroupThatStays(t *testing.T) {
	g, _ := divide(t)
	folder, path, _, err := cgroup.Work(g.Path, cgroup.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	below := filepath.Join(path, "below")
	if err := errors.Join(os.Mkdir(below, 0o755), cgroup.Note(path, []byte("note"))); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(t.TempDir(), below, "", unix.MS_BIND, ""); err != nil {
		t.Skip("nothing keeps a group from being removed: ", err)
	}
	t.Cleanup(func() {
		if err := errors.Join(unix.Unmount(below, unix.MNT_DETACH), cgroup.Clear(path)); err != nil {
			t.Error(err)
		}
	})
	if err := cgroup.Clear(path); !errors.Is(err, unix.EBUSY) {
		t.Fatalf("removed: %v", err)
	}
	for _, want := range []string{"note", ""} {
		lived, note, err := cgroup.EndNoted(path)
		if lived || string(note) != want || err != nil {
			t.Errorf("lived %t, note %q, %v, want the note %q", lived, note, err, want)
		}
	}
}

// TestAnotherGroupAtTheSamePath checks that a group that was removed counts as empty, and says nothing of a group that
// somebody made in its place.
func TestAnotherGroupAtTheSamePath(t *testing.T) {
	g, _ := divide(t)
	if err := cgroup.Clear(g.Path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(g.Path, 0o755); err != nil {
		t.Fatal(err)
	}
	stranger := exec.Command("sleep", "1000")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = stranger.Process.Kill()
		_ = stranger.Wait()
		_ = os.Remove(g.Path)
	}()
	move(t, stranger, g.Path)
	wantEmpty(t, g, true)
	if err := g.Kill(); err != nil {
		t.Error(err)
	}
	if err := stranger.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the stranger: %v", err)
	}
}

// maker starts a process that makes a group, and returns the path of the group.
func maker(t *testing.T) (c *exec.Cmd, path string) {
	t.Helper()
	c = exec.Command(os.Args[0])
	c.Env = append(os.Environ(), holderVariable+"=1")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return c, strings.TrimSpace(line)
}

// TestWhatADeadMakerLeft checks that making a group kills what the maker of an older one left, and only once that
// maker is dead.
func TestWhatADeadMakerLeft(t *testing.T) {
	divide(t)
	maker, path := maker(t)
	if _, left := divide(t); len(left) > 0 {
		t.Errorf("beside a living maker: notes %q", left)
	}
	if text, err := os.ReadFile(filepath.Join(path, cgroup.EventsFile)); err != nil || !strings.Contains(string(text), "populated 1") {
		t.Errorf("beside a living maker: %q %v", text, err)
	}
	_ = maker.Process.Kill()
	_ = maker.Wait()
	if text, err := os.ReadFile(filepath.Join(path, cgroup.EventsFile)); err != nil || !strings.Contains(string(text), "populated 1") {
		t.Errorf("the dead maker left nothing: %q %v", text, err)
	}
	if _, left := divide(t); !slices.Equal(left, []string{"second"}) {
		t.Errorf("the dead maker left the notes %q", left)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group of the dead maker is still there: %v", err)
	}
}

// TestWhatCannotBeKilled checks that a group can be made beside that of a dead maker in which something lives on, and that the
// latter proves nothing before it is empty.
func TestWhatCannotBeKilled(t *testing.T) {
	divide(t)
	maker, path := maker(t)
	hangs, release := cgrouptest.Unkillable(t)
	move(t, hangs, path)
	_ = maker.Process.Kill()
	_ = maker.Wait()
	g, left, err := cgroup.Divide(cgroup.Always)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.KillAll() })
	if len(left.Notes) > 0 || len(left.LivesOn) != 1 || !strings.Contains(left.LivesOn[0], path+": it lives on") {
		t.Errorf("while something lives: notes %q, %q", left.Notes, left.LivesOn)
	}
	if text, err := os.ReadFile(filepath.Join(path, cgroup.EventsFile)); err != nil || !strings.Contains(string(text), "populated 1") {
		t.Errorf("nothing lives: %q %v", text, err)
	}
	release()
	if _, notes := divide(t); !slices.Equal(notes, []string{"second"}) {
		t.Errorf("once nothing lives: notes %q", notes)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group of the dead maker is still there: %v", err)
	}
}

// TestModes checks where a mode makes no group.
func TestModes(t *testing.T) {
	if g, _, err := cgroup.Divide(cgroup.Never); g != nil || err != nil {
		t.Errorf("never: %v %v", g, err)
	}
	own, err := cgroup.Own()
	if err != nil {
		t.Skip(err)
	}
	if g, _, err := cgroup.Divide(cgroup.Auto); err != nil || (g != nil) != cgroup.Delegated(own) {
		t.Errorf("auto: %v %v; delegated: %v", g, err, cgroup.Delegated(own))
	}
	if err := unix.Setxattr(own, "trusted.delegate", []byte("1"), 0); err != nil {
		t.Skip(err)
	}
	defer func() { _ = unix.Removexattr(own, "trusted.delegate") }()
	g, _, err := cgroup.Divide(cgroup.Auto)
	if err != nil || g == nil {
		t.Fatalf("auto, delegated: %v %v", g, err)
	}
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
	most := filepath.Join(own, "cgroup.max.descendants")
	if err := os.WriteFile(most, []byte("0"), 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.WriteFile(most, []byte("max"), 0) }()
	if g, _, err := cgroup.Divide(cgroup.Auto); g != nil || !errors.Is(err, cgroup.ErrIndivisible) || !strings.Contains(err.Error(), "mkdir "+own) {
		t.Errorf("auto, delegated, with as many groups as it may have: %v %v", g, err)
	}
}

// TestFolderOf checks where the group of a process is found.
func TestFolderOf(t *testing.T) {
	const unified = "30 24 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	for _, tt := range []struct{ what, groups, mounts, want string }{
		{"a unit of systemd", "0::/system.slice/primacy.service\n", unified, "/sys/fs/cgroup/system.slice/primacy.service"},
		{"version 1 beside it", "4:memory:/a\n0::/b\n", "29 24 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" + unified, "/sys/fs/cgroup/b"},
		{"a namespace of its own", "0::/\n", unified, "/sys/fs/cgroup"},
		{"a mount of a part", "0::/pods/x/y\n", "30 24 0:27 /pods/x /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "/sys/fs/cgroup/y"},
		{"a mount of another part", "0::/pods/x\n", "30 24 0:27 /pods/y /sys/fs/cgroup ro - cgroup2 cgroup rw\n", ""},
		{"version 1 alone", "4:memory:/a\n", unified, ""},
		{"no mount", "0::/a\n", "", ""},
	} {
		if got, err := cgroup.FolderOf(tt.groups, tt.mounts); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %q %v, want %q", tt.what, got, err, tt.want)
		}
	}
}

// TestAStrangersGroup checks that a group which Divide did not make is left alone, whatever its name.
func TestAStrangersGroup(t *testing.T) {
	divide(t)
	own, err := cgroup.Own()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(own, "primacy-web.service")
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	stranger := exec.Command("sleep", "1000")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = stranger.Process.Kill()
		_ = stranger.Wait()
		_ = os.Remove(path)
	}()
	move(t, stranger, path)
	divide(t)
	if text, err := os.ReadFile(filepath.Join(path, cgroup.EventsFile)); err != nil || !strings.Contains(string(text), "populated 1") {
		t.Errorf("a stranger's group: %q %v", text, err)
	}
}
