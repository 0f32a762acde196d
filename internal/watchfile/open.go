package watchfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

var errNoFile = errors.New("it is not a regular file (put a file there)")

// Open opens a file to read it. The path may be anything by now, so it opens regular files only: to open a pipe would wait for its
// writer.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: errNoFile}
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}
