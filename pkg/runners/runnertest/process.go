//go:build linux

package runnertest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

const (
	actVariable  = "RUNNERTEST_ACT"
	pipeVariable = "RUNNERTEST_PIPE"

	// Acts of the processes that the work starts.
	helper   Act = "helper"
	detached Act = "detached"
	launcher Act = "launcher"

	crashStatus = 7

	// lifetime ends work that a failed test left behind.
	lifetime = time.Minute
)

// Env is the environment in which a process that calls Become does the work.
func (w Work) Env() map[string]string {
	env := map[string]string{
		actVariable: string(w.Act), pipeVariable: w.Pipe,
		"GORACE": "atexit_sleep_ms=0", // a race detector would sleep for a second at the exit
	}
	if w.Twist != "" {
		env[twistVariable], env[folderVariable] = string(w.Twist), w.Folder
	}
	return env
}

// Become makes this process the work that its environment names, and then does not return. TestMain
// calls it first.
func Become() {
	act := Act(os.Getenv(actVariable))
	if act == "" {
		return
	}
	reexecute()
	clock.AfterFunc(lifetime, func() { os.Exit(99) })
	os.Exit(perform(act))
}

// perform does the work and returns the exit status.
func perform(act Act) int {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	tell, err := Enter(os.Getenv(pipeVariable))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	if err := twist(); err != nil {
		tell.Event("failed %v", err)
		return 94
	}
	var helperTold func() error
	switch act {
	case Slow:
		tell.Event("starting")
		for range told {
		}
	case launcher:
		if err := launch(); err != nil {
			tell.Event("failed %v", err)
			return 95
		}
		return 0
	case detached:
		tell.Event("detached %d", os.Getpid())
		fmt.Println("ready") // the launcher waits for this line
		halt()
		select {}
	case helper:
		fmt.Println("ready") // the parent waits for this line
		halt()
		for range told {
			fmt.Println("told")
		}
	case Fork, ForkCrash:
		pid, wait, err := StartHelper()
		if err != nil {
			tell.Event("failed %v", err)
			return 97
		}
		tell.Event("helper %d", pid)
		helperTold = wait
	case Forks:
		wait, err := StartHelpers()
		if err != nil {
			tell.Event("failed %v", err)
			return 97
		}
		helperTold = wait
	case Detach:
		if err := StartDetached(); err != nil {
			tell.Event("failed %v", err)
			return 97
		}
	case Mob:
		if err := Gather(tell); err != nil {
			tell.Event("failed %v", err)
			return 93
		}
		for range told {
		}
	case Flood:
		go MakeFlood(tell) // ends with the process
	case Noise:
		MakeNoise()
		tell.Event("noisy")
	}
	if act != Deaf {
		go extensions(tell) // ends with the process
	}
	tell.Event("began %s %s %s %s", os.Getenv("PRIMACY_ELECTION"), os.Getenv("PRIMACY_IDENTITY"),
		os.Getenv("PRIMACY_MEMBER_REVISION"), os.Getenv("PRIMACY_TOKEN"))
	if act == Crash || act == ForkCrash {
		return crashStatus
	}
	for range told {
		if act != Ignore {
			break
		}
		tell.Event("ignored")
	}
	if helperTold != nil {
		if err := helperTold(); err != nil {
			tell.Event("failed %v", err)
			return 96
		}
	}
	tell.Event("stopping")
	return 0
}

// extensions reports the lines of the pipe for extensions.
func extensions(tell *Tell) {
	fd, err := strconv.Atoi(os.Getenv("PRIMACY_EXTENSIONS_FD"))
	if err != nil {
		return
	}
	for lines := bufio.NewScanner(os.NewFile(uintptr(fd), "extensions")); lines.Scan(); {
		tell.Event("extended %s", lines.Text())
	}
}

// StartHelper starts a process in our group, and returns when the helper has entered the stage. The
// returned function told waits until somebody has told the helper to stop.
func StartHelper() (pid int, told func() error, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, nil, err
	}
	if err := os.Setenv(actVariable, string(helper)); err != nil {
		return 0, nil, err
	}
	p, err := os.StartProcess("/proc/self/exe", os.Args[:1], &os.ProcAttr{
		Env: os.Environ(),
		// The helper holds our outputs open, as a carelessly started helper does.
		Files: []*os.File{nil, w, os.Stderr, os.Stdout},
	})
	if err != nil {
		return 0, nil, err
	}
	_ = w.Close()
	lines := bufio.NewScanner(r)
	line := func() error {
		if !lines.Scan() {
			return fmt.Errorf("the helper is gone: %w", lines.Err())
		}
		return nil
	}
	return p.Pid, line, line()
}

// StartHelpers starts eight helpers. The returned function told waits until all have been told to
// stop.
func StartHelpers() (told func() error, err error) {
	var all []func() error
	for range 8 {
		_, told, err := StartHelper()
		if err != nil {
			return nil, err
		}
		all = append(all, told)
	}
	return func() error {
		for _, told := range all {
			if err := told(); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// Gather makes this process and two helpers a Mob.
func Gather(tell *Tell) error {
	if err := twist(); err != nil {
		return err
	}
	if _, _, err := StartHelper(); err != nil {
		return err
	}
	if err := StartDetached(); err != nil {
		return err
	}
	tell.Event("began %s", os.Getenv(twistVariable))
	halt()
	return nil
}

// StartDetached starts a process in a session of its own, whose parent ends at once. It returns when
// the process has entered the stage.
func StartDetached() error {
	if err := os.Setenv(actVariable, string(launcher)); err != nil {
		return err
	}
	p, err := os.StartProcess("/proc/self/exe", os.Args[:1], &os.ProcAttr{
		Env: os.Environ(), Files: []*os.File{nil, nil, os.Stderr}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return err
	}
	state, err := p.Wait()
	if err == nil && !state.Success() {
		err = fmt.Errorf("the launcher: %v", state)
	}
	return err
}

// launch starts the detached process, and ends.
func launch() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	if err := os.Setenv(actVariable, string(detached)); err != nil {
		return err
	}
	if _, err := os.StartProcess("/proc/self/exe", os.Args[:1], &os.ProcAttr{
		Env: os.Environ(), Files: []*os.File{nil, w, os.Stderr}, Sys: &syscall.SysProcAttr{Setsid: true},
	}); err != nil {
		return err
	}
	_, err = r.Read(make([]byte, 1))
	return err
}

// MakeFlood writes for as long as the process exists.
func MakeFlood(tell *Tell) {
	text := bytes.Repeat([]byte("what nobody wants to know, again and again\n"), 1000)
	for written := 0; ; written += len(text) {
		_, _ = os.Stdout.Write(text)
		_, _ = os.Stderr.Write(text)
		if before := written - len(text); before < flood && written >= flood {
			tell.Event("flooded")
		}
	}
}

// flood is more bytes than any pipe in between holds.
const flood = 4 << 20

// MakeNoise writes output that nobody should have to read.
func MakeNoise() {
	for _, out := range []*os.File{os.Stdout, os.Stderr} {
		_, _ = out.Write(append(bytes.Repeat([]byte("x"), 1<<20), '\n'))
		_, _ = out.Write([]byte("\xff\xfe\x00\x1b[2J\n"))
		_, _ = out.WriteString("no end")
	}
}
