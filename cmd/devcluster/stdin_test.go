package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestWatchedStdin(t *testing.T) {
	r, w, err := os.Pipe()
	noError(t, err)
	defer r.Close()
	defer w.Close()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	noError(t, err)
	socket := os.NewFile(uintptr(pair[0]), "socket")
	defer socket.Close()
	defer syscall.Close(pair[1])
	null, err := os.Open(os.DevNull)
	noError(t, err)
	defer null.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	noError(t, err)
	defer file.Close()

	for _, c := range []struct {
		name string
		file *os.File
		auto bool
	}{
		{"pipe", r, true},
		{"socket", socket, true},
		{"/dev/null", null, false},
		{"file", file, false},
	} {
		for mode, want := range map[stdinMode]bool{stdinAuto: c.auto, stdinWatch: true, stdinLeave: false} {
			if got := mode.watches(c.file); got != want {
				t.Errorf("%s with mode %s: watched %v, want %v", c.name, mode, got, want)
			}
		}
	}
}
