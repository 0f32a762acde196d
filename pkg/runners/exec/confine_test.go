//go:build linux

package exec_test

import (
	"context"
	"errors"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/child"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
	"github.com/primacy-dev/primacy/pkg/runners/exec"
	"github.com/primacy-dev/primacy/pkg/runners/runnertest"
)

// somebody is a user who owns no process on any machine where this test runs.
var somebody = child.User{UID: 54321, GID: 54322}

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may start programs of another user")
	}
}

// enterable lets other users into the directories above a test's temporary directory.
func enterable(t *testing.T, path string) string {
	t.Helper()
	for dir := filepath.Dir(path); strings.Contains(dir, t.Name()); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil { // #nosec G302 -- that is the purpose
			t.Fatal(err)
		}
	}
	return path
}

// limitsOf parses the lines of /proc/self/limits into name, soft and hard limit.
func limitsOf(lines []string) map[string]string {
	limits := map[string]string{}
	for _, line := range lines {
		if len(line) > 66 && strings.HasPrefix(line, "Max ") {
			limits[strings.TrimSpace(line[:26])] = strings.Join(strings.Fields(line[26:66]), " ")
		}
	}
	return limits
}

func TestLimits(t *testing.T) {
	show := func(l child.Limits) map[string]string {
		logs, _ := runShell(t, "exec cat /proc/self/limits", func(c *exec.Command) { c.Confinement = child.Confine(nil, l) })
		return limitsOf(output(logs, "stdout"))
	}
	own, err := os.ReadFile("/proc/self/limits")
	if err != nil {
		t.Fatal(err)
	}
	ours := limitsOf(strings.Split(string(own), "\n"))
	got := show(child.Limits{})
	if got["Max core file size"] != "0 0" || got["Max address space"] != ours["Max address space"] || got["Max processes"] != ours["Max processes"] || len(got) < 10 {
		t.Errorf("without limits: %v", got)
	}
	got = show(child.Limits{OpenFiles: 77, Memory: 4 << 30, CPUTime: 90 * time.Second, Processes: 999, Core: 8192})
	for name, want := range map[string]string{
		"Max open files": "77 77", "Max address space": "4294967296 4294967296", "Max cpu time": "90 91",
		"Max processes": "999 999", "Max core file size": "8192 8192",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}

// TestUser checks that the program has only its own group. The test runs itself as root with a
// further group.
func TestUser(t *testing.T) {
	needsRoot(t)
	if groups, err := os.Getgroups(); err != nil || !slices.Contains(groups, 7) {
		cmd := osexec.Command("/proc/self/exe", "-test.run=^TestUser$", "-test.count=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Groups: []uint32{7}}}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	dir := enterable(t, t.TempDir())
	logs, err := runShell(t, `id -u; id -g; id -G; grep NoNewPrivs /proc/self/status; pwd`, func(c *exec.Command) {
		c.Confinement, c.Dir = child.Confine(&somebody, child.Limits{}), dir
	})
	want := []string{"54321", "54322", "54322", "NoNewPrivs:\t1", dir}
	if got := output(logs, "stdout"); !slices.Equal(got, want) {
		t.Errorf("it says %q, want %q (%v; %q)", got, want, err, output(logs, "stderr"))
	}
}

func TestLimitsBind(t *testing.T) {
	needsRoot(t)
	for name, c := range map[string]struct {
		limits child.Limits
		script string
		want   string
	}{
		"memory":    {child.Limits{Memory: 64 << 20}, `head -c 200000000 /dev/zero | tail -c 190000000 >/dev/null || exit 3`, "status 3"},
		"files":     {child.Limits{OpenFiles: 8}, `exec 4</dev/null 5</dev/null 6</dev/null 7</dev/null; /bin/cat /dev/null`, "status 127"},
		"processes": {child.Limits{Processes: 2}, `for i in 1 2 3; do sleep 60 & done; exit 4`, "status 2"},
		"cpu":       {child.Limits{CPUTime: time.Second}, `while :; do :; done`, "ended by signal CPU time limit exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			logs, err := runShell(t, c.script, func(x *exec.Command) { x.Confinement = child.Confine(&somebody, c.limits) })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q; it says %q", err, c.want, output(logs, "stderr"))
			}
			if _, err := runShell(t, `exit 9`, func(x *exec.Command) { x.Confinement = child.Confine(&somebody, c.limits) }); err == nil || !strings.Contains(err.Error(), "status 9") {
				t.Errorf("within its limits: %v", err)
			}
		})
	}
}

// TestOtherUserIsKilled checks that a program of another user that ignores SIGTERM is killed, with
// its helpers.
func TestOtherUserIsKilled(t *testing.T) {
	needsRoot(t)
	stage := runnertest.NewStage(t)
	if err := os.Chmod(enterable(t, stage.Pipe), 0o666); err != nil {
		t.Fatal(err)
	}
	c := exec.Command{
		Name: "work", Args: []string{"/bin/sh", "-c", `trap "" TERM; exec 9>"$PIPE"; setsid sleep 60 & sleep 60 & echo began >&9; wait`},
		Env: []string{"PIPE=" + stage.Pipe}, StopGrace: 100 * time.Millisecond, Confinement: child.Confine(&somebody, child.Limits{}),
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- exec.New(c).Run(ctx, term(time.Hour)) }()
	stage.Await("began")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if stage.Alive() {
		t.Error("something of it lives")
	}
}

func TestConfinedStartErrors(t *testing.T) {
	needsRoot(t)
	secret := t.TempDir()
	if err := os.Chmod(secret, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command exec.Command
		want    []string
	}{
		{exec.Command{Args: []string{"/bin/true"}, Dir: secret}, []string{"cannot set its directory: permission denied", "see user, limits and dir"}},
		{exec.Command{Args: []string{"/etc/passwd"}}, []string{"permission denied", "chmod +x"}},
	} {
		c.command.Confinement = child.Confine(&somebody, child.Limits{})
		err := exec.New(c.command).Run(t.Context(), term(time.Hour))
		for _, part := range c.want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%v: got %v, want %q", c.command.Args, err, part)
			}
		}
	}
}

// confinedVariable makes the manager of TestDeath confine its work.
const confinedVariable = "EXECTEST_CONFINED"

// confinement changes the group, because a change of the group clears the signal that the kernel
// sends when the supervisor dies. The user stays root, who can open the stage.
var confinement = deadman.Confinement{
	User:   &deadman.User{UID: 0, GID: 54322},
	Limits: []deadman.Limit{{Resource: deadman.OpenFiles, Soft: 512, Hard: 512}},
}

func TestConfinedSuite(t *testing.T) {
	needsRoot(t)
	runnertest.Test(t, runnertest.Kind{
		Name: "exec, confined",
		New: func(t *testing.T, w runnertest.Work) election.Runner {
			c := command(t, w, nil)
			c.Confinement = confinement
			return exec.New(c)
		},
		Acts: runnertest.Acts,
	})
}

func TestConfinedDeath(t *testing.T) {
	needsRoot(t)
	t.Setenv(confinedVariable, "yes")
	runnertest.TestDeath(t)
}

// TestUserNeedsCapabilities checks that only a user with the capabilities may start programs of other
// users. As root the test runs itself as a user without them.
func TestUserNeedsCapabilities(t *testing.T) {
	if os.Geteuid() == 0 {
		cmd := osexec.Command("/proc/self/exe", "-test.run=^TestUserNeedsCapabilities$", "-test.count=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: somebody.UID, Gid: somebody.GID}}
		cmd.Dir = "/"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("as another user: %v\n%s", err, out)
		}
		return
	}
	_, err := decode(t, "{name: w, exec: {command: [a], user: {uid: 1, gid: 2}}}", runners.Env{StopGrace: time.Second})
	want := "1:38: exec.user: primacy may not start, and kill, programs of another user: it lacks CAP_SETUID, CAP_SETGID, CAP_KILL (run it as root"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestProgramsNeedCapKill checks that root without CAP_KILL, as in some containers, starts no
// program. The test runs itself without CAP_KILL.
func TestProgramsNeedCapKill(t *testing.T) {
	needsRoot(t)
	const again = "EXECTEST_NO_KILL"
	if os.Getenv(again) == "" {
		cmd := osexec.Command("/proc/self/exe", "-test.run=^TestProgramsNeedCapKill$", "-test.count=1")
		cmd.Env = append(os.Environ(), again+"=yes")
		runtime.LockOSThread() // never unlocked: the thread, which lacks capabilities, ends with this test
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_KILL, 0, 0, 0); err != nil {
			t.Fatal(err)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("without CAP_KILL: %v\n%s", err, out)
		}
		return
	}
	_, err := decode(t, "{name: w, exec: {command: [a]}}", runners.Env{StopGrace: time.Second})
	want := "1:17: exec: cannot run programs: this process has CAP_SETUID but not CAP_KILL"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if err := exec.New(exec.Command{Args: []string{"/bin/true"}}).Run(t.Context(), term(time.Hour)); !errors.Is(err, deadman.ErrCannotKill) {
		t.Errorf("it ran: %v", err)
	}
}
