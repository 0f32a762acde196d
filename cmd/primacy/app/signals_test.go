package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// waits is a program that waits for its signals, as a member does, and says so on standard output.
func waits() {
	ctx, _ := untilSignal(context.Background(), newLogger("info", "json"))
	fmt.Println("waits")
	<-ctx.Done()
	fmt.Println("stops")
	select {} // as a member whose stop hangs
}

// TestSignalsWhileTheLogHangs checks that the first signal stops a member, and the second ends it, though nobody reads its
// log and the log's pipe is full. The member tries to say that before it ends.
func TestSignalsWhileTheLogHangs(t *testing.T) {
	t.Parallel()
	log := fullPipe(t)
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	printed, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer printed.Close()
	member := exec.Cmd{Path: binary, Args: []string{"waits"}, Stdout: stdout, Stderr: log}
	err = member.Start()
	_ = stdout.Close()
	if err != nil {
		t.Fatal(err)
	}
	// A member that hears nothing would hang this test.
	late := clock.AfterFunc(20*time.Second, func() { _ = member.Process.Kill() })
	defer late.Stop()
	lines := bufio.NewScanner(printed)
	hear := func(want string) {
		if !lines.Scan() || lines.Text() != want {
			t.Errorf("it says %q, want %q", lines.Text(), want)
		}
	}
	hear("waits")
	_ = member.Process.Signal(syscall.SIGTERM)
	hear("stops")
	<-clock.NewTimer(echo + 100*time.Millisecond).C // an earlier signal counts as the first one's echo
	told := time.Now()
	_ = member.Process.Signal(syscall.SIGTERM)
	_ = member.Wait()
	if took := time.Since(told); took < lastWord {
		t.Errorf("it ended after %v, want that its log has %v", took, lastWord)
	}
	if got, want := member.ProcessState.ExitCode(), 128+int(syscall.SIGTERM); got != want {
		t.Errorf("it ended with %v, want exit status %d", member.ProcessState, want)
	}
}

// fullPipe is a pipe that is full, and that nobody reads.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	unread, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unread.Close(), pipe.Close() })
	if err := pipe.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for full := false; !full; {
		_, err := pipe.Write(make([]byte, 1<<12))
		full = errors.Is(err, os.ErrDeadlineExceeded)
	}
	return pipe
}

// ends is a program that logs, as a member does, and then cannot start. It says whether it waits for its log before it ends.
func ends() {
	began := time.Now()
	err := add(nil).run(context.Background(), &config.Process{Configuration: &config.Configuration{}, LogLevel: "info", LogFormat: "json", Kubeconfig: "/nowhere"},
		"m", guarded{why: errors.New("planted")})
	fmt.Println(err != nil, time.Since(began) >= logPatience)
}

// TestAMemberThatEndsAwaitsItsLog checks that a member does not end before its log had time to take what it said.
func TestAMemberThatEndsAwaitsItsLog(t *testing.T) {
	t.Parallel()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	member := exec.Cmd{Path: binary, Args: []string{"ends"}, Stderr: fullPipe(t)}
	if said, err := member.Output(); err != nil || string(said) != "true true\n" {
		t.Errorf("it says %q and ends with %v, want that it fails and waits", said, err)
	}
}

// logs is a program that logs, as a member does, when the other end of its standard input is closed.
func logs() {
	outliveReaders()
	_, _ = io.Copy(io.Discard, os.Stdin)
	log := newLogger("info", "json")
	log.Info("nobody reads this")
	_ = log.Sync() // else it may end before it has written that
	fmt.Println("goes on")
}

// TestLogWhoseReaderIsGone checks that a member goes on when the reader of its log is gone.
func TestLogWhoseReaderIsGone(t *testing.T) {
	t.Parallel()
	reader, log, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = reader.Close()
	defer log.Close()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	member := exec.Cmd{Path: binary, Args: []string{"logs"}, Stderr: log}
	if said, err := member.Output(); err != nil || string(said) != "goes on\n" {
		t.Errorf("it says %q and ends with %v, want that it goes on", said, err)
	}
}
