package main

import (
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// ownStderr returns a second descriptor of standard error, for our own messages
// after captureStderr.
func ownStderr() *os.File {
	fd, err := unix.FcntlInt(os.Stderr.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return os.Stderr
	}
	return os.NewFile(uintptr(fd), "/dev/stderr")
}

// captureStderr redirects standard error to f, for libraries such as the
// etcd client, whose logger cannot be set. A crash report goes to both.
func captureStderr(f, stderr *os.File) error {
	if err := debug.SetCrashOutput(stderr, debug.CrashOptions{}); err != nil {
		return err
	}
	return unix.Dup2(int(f.Fd()), int(os.Stderr.Fd()))
}
