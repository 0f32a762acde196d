package app

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/runners/parent"
)

// TestDev runs testdata/dev/*.txt: whole groups of processes. In addition to the commands of
// TestScripts there are
//
//	start NAME PROGRAM...         as in TestScripts, with a standard input to type into
//	type NAME LINE
//	strike NAME MEMBER SIGNAL     send a signal to a process of the group NAME: to a member, to
//	                              its devcluster
//	deserted                      wait until no process of any group of the script lives
//	clean                         check that now no process and no file of the groups is left
func TestDev(t *testing.T) {
	binary := os.Getenv(devcluster.Binary)
	if binary == "" {
		binary = filepath.Join("..", "..", "..", "bin", "devcluster")
	}
	binary, err := filepath.Abs(binary)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "dev"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("DEVCLUSTER", binary)
			e.Values[jobsKey{}] = map[string]*job{}
			e.Values[keyboardsKey{}] = map[string]*os.File{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"fails": fails, "await": await, "printed": printed, "signal": sendSignal, "exits": exits,
			"start": startWithKeyboard, "type": typeLine, "strike": strike, "deserted": deserted, "clean": clean,
		},
		RequireExplicitExec: true,
	})
}

type keyboardsKey struct{}

func startWithKeyboard(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	stdin, keyboard, err := os.Pipe()
	ts.Check(err)
	j, err := startJobReading(stdin, ts.MkAbs("."), jobEnvironment(ts), args[1:]...)
	ts.Check(err)
	ts.Check(stdin.Close())
	ts.Defer(func() {
		j.finish()
		_ = keyboard.Close() // its reader is gone
		ts.Logf("[%s]\n%s", args[0], j.text())
	})
	ts.Value(jobsKey{}).(map[string]*job)[args[0]] = j
	ts.Value(keyboardsKey{}).(map[string]*os.File)[args[0]] = keyboard
}

func typeLine(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2)
	_, err := ts.Value(keyboardsKey{}).(map[string]*os.File)[args[0]].WriteString(args[1] + "\n")
	ts.Check(err)
}

// strike finds a process of the group by its arguments.
func strike(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 3)
	part := "\x00--name\x00" + args[1] + "\x00"
	if args[1] == "devcluster" {
		part = "devcluster\x00--data-dir\x00"
	}
	var found []int
	for _, pid := range processesOf(ts) {
		cmdline, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err == nil && bytes.Contains(cmdline, []byte(part)) {
			found = append(found, pid)
		}
	}
	for _, pid := range found { // a parent, its member, and what the member is about to start: strike the member
		if member := parent.MemberOf(pid); member != pid && len(found) > 1 {
			if above := parentOf(pid); !slices.Contains(found, above) {
				found = []int{member}
				break
			}
		}
	}
	if len(found) != 1 {
		ts.Fatalf("%d processes are %s", len(found), args[1])
	}
	ts.Check(unix.Kill(found[0], unix.SignalNum("SIG"+args[2])))
}

// processesOf lists the processes that a script's groups have started: their arguments or
// environment contain the script's folder for temporary files.
func processesOf(ts *testscript.TestScript) []int {
	folder := []byte(filepath.Join(ts.Getenv("TMPDIR"), "primacy-dev-"))
	entries, err := os.ReadDir("/proc")
	ts.Check(err)
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		for _, file := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(filepath.Join("/proc", e.Name(), file))
			if err == nil && bytes.Contains(text, folder) {
				found = append(found, pid)
				break
			}
		}
	}
	return found
}

// parentOf is the process id of a process's parent; zero if it has ended.
func parentOf(pid int) int {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	ppid, _ := strconv.Atoi(fields[1])
	return ppid
}

// deserted waits for the end of each process of the script's groups.
func deserted(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 0)
	for _, pid := range processesOf(ts) {
		ts.Check(awaitEnd(pid))
	}
	if left := processesOf(ts); len(left) > 0 {
		ts.Fatalf("processes were started while others ended: %v", left)
	}
}

// awaitEnd waits for the end of a process that need not be our child.
func awaitEnd(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for late := time.Now().Add(longest); time.Now().Before(late); {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(time.Until(late).Milliseconds()))
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	return fmt.Errorf("process %d goes on", pid)
}

func clean(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 0)
	if left := processesOf(ts); len(left) > 0 {
		ts.Fatalf("processes are left: %v", left)
	}
	entries, err := os.ReadDir(ts.Getenv("TMPDIR"))
	ts.Check(err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if len(names) > 0 {
		ts.Fatalf("files are left: %s", strings.Join(names, ", "))
	}
}
