//go:build linux

package parent_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
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

// roleVariable says which member this test binary is; folderVariable where it writes what it did.
const (
	roleVariable   = "PARENT_TEST_ROLE"
	cgroupVariable = "PARENT_TEST_CGROUP"
	folderVariable = "PARENT_TEST_FOLDER"
)

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		// What we handle, our children get with its default, even if our own starter ignored it, as nohup does.
		signal.Notify(make(chan os.Signal, 1), unix.SIGHUP)
		leave := cgrouptest.Private()
		status := m.Run()
		leave()
		os.Exit(status)
	case "descendant":
		descend(os.Args[1:])
	case "killer":
		spare()
	case "program":
		toil()
	default:
		os.Exit(run(role))
	}
}

// run is a program with a parent: both processes come here.
func run(role string) int {
	if d := parent.Bereaved(); d != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if role != "forsakes" { // its parent asks for no proof
			mourn(ctx, d)
		}
		if role == "lingers" {
			linger(ctx, d)
		}
		d.Exit(ctx)
	}
	write("first", os.Getpid())
	var line *parent.Line
	var err error
	start := func() { line, err = parent.Start(parent.Options{Cgroup: cgroup.Mode(os.Getenv(cgroupVariable))}) }
	if role == "crowds" {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: fewFiles, Max: fewFiles}); err != nil {
			panic(err)
		}
	}
	if role == "strays" {
		onAnotherThread(start)
	} else {
		start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		if role == "alone" {
			_ = unix.Kill(os.Getpid(), unix.SIGHUP)
			<-clock.NewTimer(10 * time.Second).C // the signal ends it meanwhile
		}
		return 99
	}
	write("member", os.Getpid())
	return roles[role](line)
}

// fewFiles is how many files a parent of many orphans may open.
const fewFiles = 64

// onAnotherThread runs f on another thread than that of the caller.
func onAnotherThread(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// mourn writes what is left of the member at the moment of the proof.
func mourn(ctx context.Context, d *parent.Dead) {
	if err := d.Proved(ctx); err != nil {
		write("unproved", err)
		return
	}
	var alive []string
	for _, pid := range append(pids("descendants"), pids("judged")...) {
		if unix.Kill(pid, 0) == nil {
			alive = append(alive, strconv.Itoa(pid))
		}
	}
	write("proved", strings.Join(alive, " "))
	if folder := text("group"); folder != "" {
		events, err := os.ReadFile(filepath.Join(folder, "cgroup.events"))
		write("population", fmt.Sprintf("%.11s %v", events, err))
	}
	if os.Getenv(roleVariable) == "works" {
		holdOn()
	}
	write("how", d.How())
	write("sessions", d.Sessions())
	write("note", d.Note("where"))
}

// linger starts a process that hangs, as a program for credentials may, and waits until somebody asks for an end.
func linger(ctx context.Context, d *parent.Dead) {
	hangs := exec.Command("/bin/sleep", "1000")
	hangs.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no key reaches it
	err := hangs.Start()
	if err != nil {
		panic(err)
	}
	write("hired", hangs.Process.Pid)
	select {
	case <-d.Hurried():
		write("hurried", true)
	case <-ctx.Done():
	}
}

// roles are what members do.
var roles = map[string]func(*parent.Line) int{
	"exits": func(*parent.Line) int { return 7 },
	"alone": func(*parent.Line) int { return 0 },
	"aborts": func(*parent.Line) int {
		debug.SetTraceback("crash")
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
		panic("planted")
	},
	"panics": func(*parent.Line) int {
		panic("planted")
	},
	"tells": func(l *parent.Line) int {
		for n := range 1000 {
			_ = l.Note(map[string]string{"where": strconv.Itoa(n)})
		}
		_ = l.Expect("slot-0", "a_1")
		_ = l.Expect("slot-0", "a_1")
		_ = l.Expect("slot-1", "a_2")
		_ = l.Over("a_1")
		die()
		return 0
	},
	"waits":   waits,
	"lingers": waits,
	"strays":  waits,
	"begets":  begets,
	"crowds": func(*parent.Line) int {
		for range 2 * fewFiles {
			// A plain fork and exec: the member's own handle of each child would need a descriptor.
			pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "300"}, &syscall.ProcAttr{})
			if err != nil {
				panic(err)
			}
			write("descendants", pid)
		}
		die()
		return 0
	},
	"works":  works,
	"leaks":  leaks,
	"housed": housed,
	"grouped": func(l *parent.Line) int {
		if err := errors.Join(l.Expect("slot-0", "a_1"), l.Expect("slot-0", "a_2"), l.Over("a_1")); err != nil {
			panic(err)
		}
		write("left", l.Left)
		write("lives on", l.LivesOn)
		write("group", l.Cgroup)
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGUSR1)
		<-l.Broken()
		<-told
		write("leaving", "in order")
		return 0
	},
	"forsakes": begets,
	"state": func(*parent.Line) int { // shows what it inherited
		status, _ := os.ReadFile("/proc/self/status")
		for line := range strings.Lines(string(status)) {
			name, value, _ := strings.Cut(line, ":")
			if name != "SigBlk" && name != "SigIgn" {
				continue
			}
			set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			if err != nil {
				panic(err)
			}
			const asked = 1<<(unix.SIGHUP-1) | 1<<(unix.SIGINT-1) | 1<<(unix.SIGQUIT-1) | 1<<(unix.SIGTERM-1) |
				1<<(unix.SIGUSR1-1) | 1<<(unix.SIGUSR2-1) | 1<<(unix.SIGPIPE-1)
			write("state", fmt.Sprintf("%s %x", name, set&asked))
		}
		write("listens", os.Getenv("LISTEN_PID") == strconv.Itoa(os.Getpid()) && os.Getenv("WATCHDOG_PID") == strconv.Itoa(os.Getpid()))
		if os.Getenv("LISTEN_FDS") != "" {
			text, _ := bufio.NewReader(os.NewFile(3, "handed")).ReadString('\n')
			write("handed", strings.TrimSpace(text))
		}
		open, _ := os.ReadDir("/proc/self/fd")
		write("open", len(open))
		left := 0
		for _, v := range os.Environ() {
			if strings.HasPrefix(v, "PRIMACY_PARENT") {
				left++
			}
		}
		write("variables", left)
		text, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		fmt.Print("said ", text)
		return 0
	},
}

// begets is a member that dies once its descendants live.
func begets(*parent.Line) int {
	beget("plain", "session", "twice", "reaper", "stopped", "deaf")
	born := pipe("born")
	for len(pids("descendants")) < begotten {
		_, _ = born.Read(make([]byte, 64))
	}
	write("ready", "")
	die()
	return 0
}

func die() { _ = unix.Kill(os.Getpid(), unix.SIGKILL) }

// beget starts a descendant of each sort.
func beget(sorts ...string) {
	for _, sort := range sorts {
		c := descendant(sort)
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: sort == "session"}
		if err := c.Start(); err != nil {
			panic(err)
		}
	}
}

// descend is a descendant. Each lives until it is killed.
func descend(sort []string) {
	signal.Ignore(unix.SIGTERM, unix.SIGHUP, unix.SIGINT)
	switch sort[0] {
	case "twice": // its child outlives it
		beget("session")
		os.Exit(0)
	case "reaper": // it keeps its own orphans
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
		beget("twice")
	case "stopped":
		write("descendants", ownID())
		_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
		wait() // this thread may run on for a moment, or be told to go on
	case "namespace":
		inhabit()
	case "inner": // the first process of a namespace
		beget("twice")
	case "stray":
		of, err := strconv.Atoi(os.Getenv(foreignVariable))
		if err != nil {
			panic(err)
		}
		enter(of)
	}
	write("descendants", ownID())
	wait()
}

// wait waits for a signal that kills this process.
func wait() {
	for {
		_ = unix.Pause()
	}
}

// spare is a process that kills what is below it but guards and supervisors, and then these as well.
func spare() {
	guard, supervisor, other := startEcho("primacy-guard", "-"), startEcho("primacy-deadman"), startEcho("cat")
	for deadman.KillBelow(deadman.AllButGuards) {
		_ = other.cmd.Wait()
	}
	write("spared", fmt.Sprint(guard.answers(), supervisor.answers(), other.answers()))
	for deadman.KillBelow(deadman.Everybody) {
		_, _ = guard.cmd.Wait(), supervisor.cmd.Wait()
	}
	write("killed", fmt.Sprint(!guard.answers(), !supervisor.answers()))
	os.Exit(0)
}

// echo is a process that says what it is told.
type echo struct {
	cmd *exec.Cmd
	in  io.Writer
	out io.Reader
}

// startEcho starts an echo under a name and with the arguments of cat, and returns when it runs.
func startEcho(name string, args ...string) echo {
	e := echo{cmd: &exec.Cmd{Path: "/bin/cat", Args: append([]string{name}, args...)}}
	in, err := e.cmd.StdinPipe()
	if err != nil {
		panic(err)
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if e.in, e.out = in, out; e.cmd.Start() != nil || !e.answers() {
		panic("no echo")
	}
	return e
}

func (e echo) answers() bool {
	_, err := e.in.Write([]byte("x"))
	if err == nil {
		_, err = io.ReadFull(e.out, make([]byte, 1))
	}
	return err == nil
}

// begotten is how many descendants write their process ids.
const begotten = 7

// write appends a line to a file of the test's folder.
func write(name string, what any) {
	f, err := os.OpenFile(filepath.Join(os.Getenv(folderVariable), name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, what)
	_ = f.Close()
	for _, name := range []string{"events", "born"} { // wake whoever waits
		one := pipe(name)
		_, _ = one.WriteString(".")
		_ = one.Close()
	}
}

// pipe opens a named pipe of the test's folder.
func pipe(name string) *os.File {
	f, err := os.OpenFile(filepath.Join(os.Getenv(folderVariable), name), os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	return f
}

// text is what was written to a file of the test's folder.
func text(name string) string {
	text, _ := os.ReadFile(filepath.Join(os.Getenv(folderVariable), name))
	return strings.TrimSpace(string(text))
}

func pids(name string) (all []int) {
	for line := range strings.Lines(text(name)) {
		pid, _ := strconv.Atoi(strings.TrimSpace(line))
		all = append(all, pid)
	}
	return all
}

// waits writes which signals come, until SIGTERM or the end of the parent.
func waits(l *parent.Line) int {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGUSR1, syscall.SIGHUP)
	write("ready", "")
	for {
		select {
		case s := <-signals:
			write("got", s)
			if s == syscall.SIGTERM {
				return 0
			}
		case <-l.Broken():
			write("orphaned", "")
			return 0
		}
	}
}
