package dev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// prefix begins the names of the folders of runs.
const prefix = "primacy-dev-"

// lockName is the file that a run keeps locked in its folder while it goes on.
const lockName = "lock"

// folder holds all files of one run.
type folder struct {
	path string
	lock *os.File
}

// makeFolder makes a folder, and removes the folders of runs that were killed.
func makeFolder() (*folder, error) {
	sweep(os.TempDir())
	for {
		path, err := os.MkdirTemp("", prefix)
		if err != nil {
			return nil, fmt.Errorf("temporary folder: %w", err)
		}
		lock, err := claim(path)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("temporary folder: %w", err), os.RemoveAll(path))
		}
		if lock != nil {
			return &folder{path: path, lock: lock}, nil
		}
		// Another run removed the folder before we locked it.
	}
}

// claim locks a folder that was just made; nil if another run locked or removed it first.
func claim(path string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if lockFile(f) && stillThere(f) {
		return f, nil
	}
	return nil, f.Close()
}

func lockFile(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

func stillThere(f *os.File) bool {
	named, err := os.Lstat(f.Name())
	if err != nil {
		return false
	}
	opened, err := f.Stat()
	return err == nil && os.SameFile(named, opened)
}

// close removes the folder.
func (f *folder) close() error {
	return errors.Join(os.RemoveAll(f.path), f.lock.Close())
}

func (f *folder) file(name string) string { return filepath.Join(f.path, name) }

// sweep removes the folders of our runs that ended without cleaning up.
func sweep(dir string) {
	found, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
	if err != nil {
		return
	}
	for _, path := range found {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || !ours(info) {
			continue
		}
		f, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|unix.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		if lockFile(f) {
			_ = os.RemoveAll(path) // the next sweep removes what remains
		}
		_ = f.Close() // nothing was written
	}
}

func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
