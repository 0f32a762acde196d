//go:build linux

package deadman

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup/cgrouptest"
)

func init() {
	roles["family"], roles["hog"], roles["bomb"] = family, hog, bomb
}

// family starts as many hogs as its argument says, which use 16 MiB each, one after the other, and waits for their ends.
func family() error {
	n, err := strconv.Atoi(os.Args[1])
	if err != nil {
		return err
	}
	var all []*exec.Cmd
	for range n {
		c := exec.Command("/proc/self/exe")
		c.Args = []string{"hog"}
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		said, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			return err
		}
		line, err := bufio.NewReader(said).ReadString('\n')
		if err != nil {
			return fmt.Errorf("a hog died alone: %w", err)
		}
		fmt.Print(line)
		all = append(all, c)
	}
	for _, c := range all {
		_ = c.Wait()
	}
	return nil
}

const hogs = 16 << 20

// hog uses memory, says so, and ends when it is killed.
func hog() error {
	space, err := unix.Mmap(-1, 0, hogs, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_POPULATE)
	if err != nil {
		return err
	}
	for i := 0; i < len(space); i += 4096 {
		space[i] = 1
	}
	fmt.Println("used", os.Getpid())
	return rest()
}

func rest() (err error) {
	for err == nil || errors.Is(err, unix.EINTR) {
		err = unix.Pause()
	}
	return err
}

// bomb starts processes, which do the same, until there are no more to be had; and goes on to try.
func bomb() error {
	for {
		_, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "1000"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Setsid: true}})
		if err != nil && !errors.Is(err, unix.EAGAIN) {
			return err
		}
	}
}

// limitable gives this process a group below which memory and processes can be limited.
func limitable(t *testing.T) {
	t.Helper()
	g, _, err := cgroup.Divide(cgroup.Always)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		Within("", cgroup.Trees{})
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	})
	if len(g.Trees.Held) < 2 {
		t.Skip(g.Trees.Why)
	}
	Within(g.Path, g.Trees)
}

// limited starts a role of this test binary with limits of its tree, and returns its output, too.
func limited(t *testing.T, tree cgroup.Limits, args ...string) (*Process, *bufio.Reader) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p, err := Start(t.Context(), Program{
		Path: "/proc/self/exe", Args: args, Files: []*os.File{null, w, os.Stderr}, Confinement: Confinement{Tree: tree},
	}, clock.Boottime().Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		p.Wait()
		_ = r.Close()
	})
	return p, bufio.NewReader(r)
}

// TestMemoryOfATree checks that processes that stay below the limit, each by itself, die at once when all together exceed
// it; that their supervisor and its guard live, and report that as the end of the program; and that the next run has the whole
// limit again.
func TestMemoryOfATree(t *testing.T) {
	limitable(t)
	const most = 80 << 20 // the processes of this test binary need a few MiB beside what they hog
	for range 2 {
		few, said := limited(t, cgroup.Limits{Memory: most}, "family", "2")
		for range 2 {
			if line, err := said.ReadString('\n'); err != nil || !strings.HasPrefix(line, "used") {
				t.Fatalf("two hogs, below the limit: %q %v", line, err)
			}
		}
		if hits := few.hits(); hits.Killed > 0 {
			t.Errorf("two hogs, below the limit: %+v", hits)
		}
		few.Kill()
		if s := few.Wait(); s.OutOfMemory() {
			t.Errorf("two hogs, killed by us: %v", s)
		}

		many, said := limited(t, cgroup.Limits{Memory: most}, "family", "8")
		pids := map[int]bool{}
		for {
			line, err := said.ReadString('\n')
			if errors.Is(err, io.EOF) {
				break
			}
			pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "used ")))
			if err != nil {
				t.Fatal(err)
			}
			pids[pid] = true
		}
		if len(pids) < 2 || len(pids) > 5 {
			t.Errorf("%d hogs of 16 MiB came below %d MiB", len(pids), most>>20)
		}
		s := many.Wait()
		if want := fmt.Sprintf("was killed because it used up, with all that it had started, the %d bytes of limits.memory", most); s.String() != want || !s.OutOfMemory() {
			t.Errorf("eight hogs: %v; want %s", s, want)
		}
		for pid := range pids {
			if alive(pid) {
				t.Errorf("the hog %d lives on", pid)
			}
		}
		if s.lost {
			t.Error("the supervisor did not report the end")
		}
		if _, err := os.Stat(many.group); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the group is still there: %v", err)
		}
	}
}

// TestProcessesOfATree checks that a program that starts processes without end gets as many as its limit says, though its
// user is root, and that its watchers are not among them and kill all of them.
func TestProcessesOfATree(t *testing.T) {
	limitable(t)
	const most = 40
	p, _ := limited(t, cgroup.Limits{Processes: most}, "bomb")
	patience, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for p.hits().Refused == 0 {
		if !clock.Wait(patience, time.Millisecond) {
			t.Fatal("no process was refused in a minute")
		}
	}
	text, err := os.ReadFile(filepath.Join(p.within, "pids.current"))
	if n, _ := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || n < most/2 || n > most {
		t.Errorf("%q processes and threads: %v; the limit is %d", text, err, most)
	}
	procs, err := os.ReadFile(filepath.Join(p.within, "cgroup.procs"))
	all := strings.Fields(string(procs))
	if err != nil || len(all) < 2 {
		t.Errorf("its processes: %v %v", all, err)
	}
	for _, pid := range []int{p.Guard(), p.Supervisor()} {
		if strings.Contains("\n"+string(procs), fmt.Sprintf("\n%d\n", pid)) {
			t.Errorf("the watcher %d is among the program's processes", pid)
		}
	}
	p.Kill()
	if s := p.Wait(); s.lost || s.Refused() == 0 {
		t.Errorf("%v; refused: %d", s, s.Refused())
	}
	for _, text := range all {
		if pid, err := strconv.Atoi(text); err != nil || alive(pid) {
			t.Errorf("%s lives on: %v", text, err)
		}
	}
}

// TestALimitOfOne checks that limits leave the program all that they allow: what we need to start it does not count.
func TestALimitOfOne(t *testing.T) {
	limitable(t)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for range 5 {
		p, err := Start(t.Context(), Program{
			Path: "/bin/true", Args: []string{"true"}, Files: []*os.File{null, null, os.Stderr},
			Confinement: Confinement{Tree: cgroup.Limits{Processes: 1, Memory: 4 << 20}, User: &User{65534, 65534}},
		}, clock.Boottime().Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		if s := p.Wait(); !s.Success() {
			t.Fatal(s)
		}
	}
}

// spared makes this process one that the kernel never kills for its memory, as a service may be, until the test ends. Where it
// has no right to do so, no service has either.
func spared(t *testing.T) {
	t.Helper()
	before, err := os.ReadFile(scoreFile)
	if err == nil {
		err = os.WriteFile(scoreFile, []byte(neverKilled), 0)
	}
	if err != nil {
		t.Log(err)
		return
	}
	t.Cleanup(func() { _ = os.WriteFile(scoreFile, before, 0) })
}

// TestItJoinsFirst checks that a program is in the group with its limits when it begins, as another user too, and that the
// kernel would kill it if it exceeded them.
func TestItJoinsFirst(t *testing.T) {
	spared(t)
	own, err := cgroup.Own()
	if err != nil {
		t.Skip(err)
	}
	within, err := os.MkdirTemp(own, "test-")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = cgroup.Clear(within) }()
	for _, c := range []Confinement{{Limits: []Limit{{OpenFiles, 64, 64}}}, {User: &User{65534, 65534}}} {
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		program := Program{Path: "/bin/cat", Args: []string{"cat", "/proc/self/cgroup", "/proc/self/oom_score_adj"}, Files: []*os.File{null, w, os.Stderr}, Confinement: c}
		p := newProcess()
		if err := p.start(program); err != nil {
			t.Fatal(err)
		}
		p.within, program.Confinement.Tree = within, cgroup.Limits{Processes: 100}
		if err := p.begin(program.job(p, clock.Boottime().Now().Add(time.Minute))); err != nil {
			t.Fatal(err)
		}
		_, _ = null.Close(), w.Close()
		p.following.Go(p.follow)
		text, err := io.ReadAll(r)
		if err != nil || !strings.Contains(string(text), "0::"+strings.TrimPrefix(within, mountOf(t, own))) {
			t.Errorf("the program is in %q, not in %s: %v", text, within, err)
		}
		if !strings.HasSuffix(string(text), "\n0\n") {
			t.Errorf("the kernel would spare the program: %q", text)
		}
		if s := p.Wait(); !s.Success() {
			t.Error(s)
		}
		_ = r.Close()
	}
}

// mountOf is where control groups are mounted.
func mountOf(t *testing.T, own string) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if path, is := strings.CutPrefix(strings.TrimSpace(line), "0::"); is {
			return strings.TrimSuffix(own, path)
		}
	}
	return ""
}

// TestNoWeakerLimits checks that a program does not start if the limits of its tree cannot be set.
func TestNoWeakerLimits(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	all := cgroup.Trees{Held: []cgroup.Controller{cgroup.Memory, cgroup.Processes}}
	for what, group := range map[string]string{"no group": "", "no folder": filepath.Join(t.TempDir(), "absent"), "a folder that is no group": t.TempDir()} {
		Within(group, all)
		p, err := Start(t.Context(), Program{
			Path: "/bin/true", Args: []string{"true"}, Files: []*os.File{null, null, null}, Confinement: Confinement{Tree: cgroup.Limits{Memory: 1 << 30}},
		}, clock.Boottime().Now().Add(time.Minute))
		Within("", cgroup.Trees{})
		var no *ConfineError
		if !errors.As(err, &no) {
			t.Errorf("%s: %v", what, err)
		}
		if err == nil {
			p.Wait()
		}
	}
}

// TestInAKernelOfItsOwn runs the tests of limits where memory and processes can be limited.
func TestInAKernelOfItsOwn(t *testing.T) {
	cgrouptest.Boot(t,
		"TestMemoryOfATree", "TestProcessesOfATree", "TestALimitOfOne", "TestItJoinsFirst", "TestNoWeakerLimits",
		"TestNothingInTheGroupOutlivesTheProgram", "TestTheGroupEndsWithoutUs")
}
