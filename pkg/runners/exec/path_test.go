//go:build linux

package exec_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/exec"
)

// TestAFolderOfPathThatHangs checks that a term ends in time although the file system of a folder of PATH does not answer, and that a
// program of a folder before it starts.
func TestAFolderOfPathThatHangs(t *testing.T) {
	good, bad := t.TempDir(), t.TempDir()
	hang(t, bad)
	if err := os.WriteFile(filepath.Join(good, "works"), []byte("#!/bin/sh\nexit 7\n"), 0o700); err != nil { // #nosec G306 -- a program
		t.Fatal(err)
	}
	for name, path := range map[string]string{"works": good + ":" + bad, "hangs": bad + ":" + good} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", path)
			c := exec.Command{Name: name, Args: []string{"works"}, Clock: clock.Boottime()}
			ended := make(chan error, 1)
			go func() { ended <- exec.New(c).Run(t.Context(), term(2*time.Second)) }() // joined by the receive below
			select {
			case err := <-ended:
				var exit *exec.ExitError
				if name == "hangs" != errors.Is(err, runners.ErrDeadline) || name == "works" != errors.As(err, &exit) {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Fatal("it hangs, too")
			}
		})
	}
}

// TestADirThatHangs checks that a run ends with the error of its start although the program is nowhere, and the file system of its dir
// does not answer.
func TestADirThatHangs(t *testing.T) {
	disk := t.TempDir()
	hang(t, disk)
	ended := make(chan error, 1)
	r := exec.New(exec.Command{Name: "work", Args: []string{"no-such-program"}, Dir: filepath.Join(disk, "dir"), Clock: clock.Boottime()})
	go func() { ended <- r.Run(t.Context(), term(time.Minute)) }() // joined by the receive below
	select {
	case err := <-ended:
		var start *exec.StartError
		if !errors.As(err, &start) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v, want one that says that there is no such program", err)
		}
	case <-clock.NewTimer(20 * time.Second).C:
		t.Error("it hangs, too")
	}
}

// hang mounts a file system that does not answer.
func hang(t *testing.T, at string) {
	t.Helper()
	fuse, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no file system to hang: ", err)
	}
	if err := unix.Mount("hangs", at, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fuse.Fd())); err != nil {
		_ = fuse.Close()
		t.Skip("no file system to hang: ", err)
	}
	t.Cleanup(func() {
		_ = fuse.Close() // whoever hangs gets an error
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}
