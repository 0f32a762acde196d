//go:build linux

package parent_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// program is a run of this test binary in a role.
type program struct {
	t      *testing.T
	folder string
	cmd    *exec.Cmd
	out    output
	// events has something to read after each write of the processes.
	events *os.File
}

// output is what a program has printed. It may print more while the test reads.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func newProgram(t *testing.T, role string) *program {
	t.Helper()
	if _, err := os.Stat("/proc/self/exe"); err != nil {
		t.Skip("no /proc")
	}
	p := &program{t: t, folder: t.TempDir(), cmd: exec.Command(os.Args[0])}
	for _, name := range []string{"events", "born", "looked"} {
		if err := unix.Mkfifo(filepath.Join(p.folder, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if p.events, err = os.OpenFile(filepath.Join(p.folder, "events"), os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.events.Close() })
	p.cmd.Env = append(os.Environ(), roleVariable+"="+role, folderVariable+"="+p.folder)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	return p
}

func (p *program) start() *program {
	p.t.Helper()
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		for _, name := range []string{"member", "descendants"} {
			for line := range strings.Lines(p.text(name)) {
				if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
					_ = unix.Kill(pid, unix.SIGKILL)
				}
			}
		}
		_ = p.cmd.Wait()
	})
	return p
}

// status waits for the end, and returns the exit status, or the negative number of the signal.
func (p *program) status() int {
	p.t.Helper()
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	if state := p.cmd.ProcessState.Sys().(syscall.WaitStatus); state.Signaled() {
		return -int(state.Signal())
	}
	return p.cmd.ProcessState.ExitCode()
}

// text is what the processes wrote into a file.
func (p *program) text(name string) string {
	text, _ := os.ReadFile(filepath.Join(p.folder, name))
	return strings.TrimSuffix(string(text), "\n")
}

// patience is how long an event may take before it counts as missing. Beside busy processes a family of 17 took longer than
// 20 s to begin.
const patience = time.Minute

// await waits until a file says what it should.
func (p *program) await(name, want string) {
	p.t.Helper()
	if !p.until(func() bool {
		_, err := os.Stat(filepath.Join(p.folder, name))
		return err == nil && p.text(name) == want
	}) {
		p.t.Fatalf("%s says %q, want %q", name, p.text(name), want)
	}
}

// anything waits until a file says something.
func (p *program) anything(name string) string {
	p.t.Helper()
	if !p.until(func() bool { return p.text(name) != "" }) {
		p.t.Fatalf("%s says nothing\n%s", name, p.out.String())
	}
	return p.text(name)
}

// until waits until what the processes wrote is as it should be.
func (p *program) until(is func() bool) bool {
	p.t.Helper()
	return p.within(patience, is)
}

// within waits for so long at most.
func (p *program) within(most time.Duration, is func() bool) bool {
	p.t.Helper()
	if err := p.events.SetReadDeadline(time.Now().Add(most)); err != nil {
		p.t.Fatal(err)
	}
	for err := error(nil); err == nil; _, err = p.events.Read(make([]byte, 64)) {
		if is() {
			return true
		}
	}
	return false
}

func (p *program) wants(name, want string) {
	p.t.Helper()
	_, err := os.Stat(filepath.Join(p.folder, name))
	if got := p.text(name); err != nil || got != want {
		p.t.Errorf("%s says %q, want %q\n%s", name, got, want, p.out.String())
	}
}

// member is the process id of the member.
func (p *program) member() int {
	p.t.Helper()
	pid, err := strconv.Atoi(p.text("member"))
	if err != nil {
		p.t.Fatal(err)
	}
	return pid
}

// TestTheMembersEnd checks that a parent ends as its member did, and is the process that was started.
func TestTheMembersEnd(t *testing.T) {
	for role, want := range map[string]int{"exits": 7, "panics": 2, "aborts": -int(unix.SIGABRT), "tells": -int(unix.SIGKILL)} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, role).start()
			if got := p.status(); got != want {
				t.Errorf("exit status %d, want %d\n%s", got, want, p.out.String())
			}
			p.wants("proved", "")
			p.wants("first", strconv.Itoa(p.cmd.Process.Pid)+"\n"+p.text("member"))
		})
	}
}

// TestWhatAMemberTold checks that a parent knows what its member told before it died.
func TestWhatAMemberTold(t *testing.T) {
	p := newProgram(t, "tells").start()
	p.status()
	p.wants("sessions", "[{slot-1 a_2}]")
	p.wants("note", "999")
	p.wants("how", "killed by SIGKILL")
}

// TestNothingOutlivesTheProof checks that all descendants of a dead member are killed, and that nobody proves
// its death before. The parent looks for each of them at the moment of the proof.
func TestNothingOutlivesTheProof(t *testing.T) {
	for range 5 {
		p := newProgram(t, "begets").start()
		if got := p.status(); got != -int(unix.SIGKILL) {
			t.Errorf("exit status %d\n%s", got, p.out.String())
		}
		p.wants("proved", "")
		if n := strings.Count(p.text("descendants"), "\n") + 1; n < begotten {
			t.Errorf("there were %d descendants", n)
		}
	}
}

// TestMoreOrphansThanFiles checks that a parent kills more processes than it may open files.
func TestMoreOrphansThanFiles(t *testing.T) {
	p := newProgram(t, "crowds").start()
	if got := p.status(); got != -int(unix.SIGKILL) {
		t.Errorf("exit status %d\n%s", got, p.out.String())
	}
	p.wants("proved", "")
	for _, pid := range descendants(t, p) {
		if unix.Kill(pid, 0) == nil {
			t.Errorf("process %d lives on", pid)
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// descendants are the processes that the program's member has left behind.
func descendants(t *testing.T, p *program) (all []int) {
	t.Helper()
	for line := range strings.Lines(p.text("descendants")) {
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pid)
	}
	return all
}

// TestNothingOutlivesTheParent checks that a parent goes last even if it asks for no proof, as after an error.
func TestNothingOutlivesTheParent(t *testing.T) {
	for range 5 {
		p := newProgram(t, "forsakes").start()
		p.status()
		for _, pid := range descendants(t, p) {
			if unix.Kill(pid, 0) == nil {
				t.Errorf("process %d lives on", pid)
			}
		}
	}
}

// TestSignalsArePassedOn checks that the member gets each signal that is sent to its parent, once.
func TestSignalsArePassedOn(t *testing.T) {
	p := newProgram(t, "waits")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal
	p.start()
	p.await("ready", "")
	for n, s := range []syscall.Signal{unix.SIGUSR1, unix.SIGHUP, unix.SIGINT, unix.SIGTERM} {
		if err := p.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		p.await("got", strings.Join([]string{"user defined signal 1", "hangup", "interrupt", "terminated"}[:n+1], "\n"))
	}
	if got := p.status(); got != 0 {
		t.Errorf("exit status %d\n%s", got, p.out.String())
	}
}

// TestAMemberHearsOfItsParentsDeath checks that a member knows when its parent is gone.
func TestAMemberHearsOfItsParentsDeath(t *testing.T) {
	p := newProgram(t, "waits").start()
	p.await("ready", "")
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.await("orphaned", "")
}

// TestAStarterThatDies checks that a program is told of the end of its starter, if that asked the kernel for it
// (PR_SET_PDEATHSIG): the kernel tells the thread that began the program, and executes it on another one.
func TestAStarterThatDies(t *testing.T) {
	p := newProgram(t, "strays")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	leave := make(chan struct{})
	var begin func()
	begin = func() { // for the kernel the end of its thread is that of the starter
		runtime.LockOSThread()            // never unlocked, so the thread ends with the goroutine
		if unix.Gettid() == os.Getpid() { // but a process's first thread does not end in Go
			defer runtime.UnlockOSThread()
			begun := make(chan struct{})
			go func() {
				defer close(begun)
				begin()
			}()
			<-begun
			return
		}
		p.start()
		<-leave
	}
	go begin()
	p.await("ready", "")
	close(leave)
	p.await("got", "terminated")
}

// TestAFrozenMemberIsNotDead checks that a parent proves nothing of a member that only stands still.
func TestAFrozenMemberIsNotDead(t *testing.T) {
	p := newProgram(t, "waits").start()
	p.await("ready", "")
	if err := unix.Kill(p.member(), unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(unix.SIGUSR1); err != nil { // the parent takes it in after the stop
		t.Fatal(err)
	}
	if err := unix.Kill(p.member(), unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p.await("got", "user defined signal 1")
	if _, err := os.Stat(filepath.Join(p.folder, "proved")); err == nil {
		t.Error("its death was proved")
	}
}

// TestWhatAMemberInherits checks that a member has what it would have without a parent: signal masks, descriptors,
// standard input, and what a service manager hands over.
func TestWhatAMemberInherits(t *testing.T) {
	p := newProgram(t, "state")
	handed, give, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := give.WriteString("a socket\n"); err != nil {
		t.Fatal(err)
	}
	p.cmd.ExtraFiles = []*os.File{handed}
	p.cmd.Stdin = strings.NewReader("hello\n")
	// A service manager sets LISTEN_PID after the fork.
	p.cmd.Args = []string{"sh", "-c", `LISTEN_FDS=1 LISTEN_PID=$$ WATCHDOG_PID=$$ exec "$0"`, os.Args[0]}
	p.cmd.Path = "/bin/sh"
	p.start()
	_ = give.Close()
	_ = handed.Close()
	if got := p.status(); got != 0 {
		t.Fatalf("exit status %d\n%s", got, p.out.String())
	}
	if got := p.out.String(); got != "said hello\n" {
		t.Errorf("it printed %q", got)
	}
	p.wants("listens", "true")
	p.wants("handed", "a socket")
	p.wants("variables", "0")
	p.wants("state", "SigBlk 0\nSigIgn 0")
}

// TestWhatWasIgnoredStaysIgnored checks that a member ignores the signals that its starter ignored, as nohup does.
func TestWhatWasIgnoredStaysIgnored(t *testing.T) {
	p := newProgram(t, "state")
	p.cmd.Stdin = strings.NewReader("hello\n")
	p.cmd.Args, p.cmd.Path = []string{"sh", "-c", `trap "" HUP; exec "$0"`, os.Args[0]}, "/bin/sh"
	p.start()
	if got := p.status(); got != 0 {
		t.Fatalf("exit status %d\n%s", got, p.out.String())
	}
	p.wants("state", "SigBlk 0\nSigIgn 1")
}

// TestInheritedChildrenAreLeftAlone checks that there is no parent above a process that has children already: it could
// not tell them from what its member leaves.
func TestInheritedChildrenAreLeftAlone(t *testing.T) {
	p := newProgram(t, "exits")
	p.cmd.Args, p.cmd.Path = []string{"sh", "-c", `sleep 1 >/dev/null 2>&1 & exec "$0"`, os.Args[0]}, "/bin/sh"
	p.start()
	if got := p.status(); got != 99 || !strings.Contains(p.out.String(), "children from before") {
		t.Errorf("exit status %d\n%s", got, p.out.String())
	}
}

// TestAMemberWithoutAParentKeepsItsSignals checks that signals still end a process that could not start its member, and so goes
// on as a member without a parent. The test looks for a limit of open files with which only that start fails.
func TestAMemberWithoutAParentKeepsItsSignals(t *testing.T) {
	for files := 4; files < 64; files++ {
		p := newProgram(t, "alone")
		p.cmd.Args, p.cmd.Path = []string{"sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$0"`, files), os.Args[0]}, "/bin/sh"
		p.start()
		switch got := p.status(); {
		case strings.Contains(p.out.String(), "start the member: "):
			if got != -int(unix.SIGHUP) {
				t.Errorf("exit status %d, want an end by SIGHUP\n%s", got, p.out.String())
			}
			return
		case got == 0:
			t.Fatalf("the start does not fail with %d files", files)
		}
	}
	t.Error("everything fails but the start")
}

// TestGuardsAreSpared checks that the guards and supervisors of programs are killed last: if their killer dies, they go on.
func TestGuardsAreSpared(t *testing.T) {
	p := newProgram(t, "killer").start()
	p.status()
	p.wants("spared", "true true false")
	p.wants("killed", "true true")
}

// TestNoHurryEndsAParentBeforeItsMembersWork checks that signals do not end a parent while anything of its member lives.
func TestNoHurryEndsAParentBeforeItsMembersWork(t *testing.T) {
	p := newProgram(t, "begets").start()
	p.await("ready", "")
	ended := make(chan struct{})
	go func() {
		p.status()
		close(ended)
	}()
	for hurried := false; !hurried; {
		select {
		case <-ended:
			hurried = true
		default:
			_ = p.cmd.Process.Signal(unix.SIGTERM)
		}
	}
	p.wants("proved", "")
}
