package exec

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// extensionsFD is where the program finds the extensions: the first after its standard
// files.
const extensionsFD = 3

// pipes opens the program's standard files and the extensions, in the order of its
// descriptors, and keeps our ends of them.
func (p *process) pipes() (theirs []*os.File, err error) {
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	theirs = append(theirs, stdin)
	for _, ours := range []**os.File{&p.stdout, &p.stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			return theirs, fmt.Errorf("open a pipe for its output: %w", err)
		}
		*ours = r
		theirs = append(theirs, w)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return theirs, fmt.Errorf("open a pipe for its extensions: %w", err)
	}
	p.extensions = w
	// A short pipe holds few lines that are out of date. Where it cannot be had the
	// default serves too.
	if raw, err := w.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, os.Getpagesize())
		})
	}
	return append(theirs, r), nil
}

// ends are our ends of the pipes.
func (p *process) ends() []*os.File { return []*os.File{p.stdout, p.stderr, p.extensions} }

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}
