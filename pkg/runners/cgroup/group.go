//go:build linux

package cgroup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Group is a control group that this process has made. Its methods may be called by any goroutine.
type Group struct {
	// Path is its folder.
	Path string
	// Trees says which limits groups below it may have.
	Trees Trees
	// folder holds the lock, events says whether any process lives, and killer kills them. All stay open, so that
	// another group at the same path proves nothing.
	folder, events, killer *os.File
}

// The files of a group that we use.
const (
	eventsFile = "cgroup.events"
	procsFile  = "cgroup.procs"
	killFile   = "cgroup.kill"
)

// open opens a group.
func open(path string) (_ *Group, err error) {
	folder, err := os.OpenFile(path, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	g := &Group{Path: path, folder: folder}
	if g.events, err = g.openFile(eventsFile, unix.O_RDONLY); err == nil {
		g.killer, err = g.openFile(killFile, unix.O_WRONLY)
	}
	if err != nil {
		g.Close()
		return nil, fmt.Errorf("%s (cgroup.kill needs Linux 5.14): %w", path, err)
	}
	return g, nil
}

// Join moves this process, with all its threads, into the group with the path. Do it before this process starts
// another one. A process can also be born in a group (see Work). But Linux 6.18 sometimes kills such a process at once
// if something in that group was killed earlier, so only a new group is fit for it.
func Join(path string) error {
	procs, err := os.OpenFile(filepath.Join(path, procsFile), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("join a control group: %w", err)
	}
	if _, err := procs.WriteString("0"); err != nil {
		_ = procs.Close()
		return fmt.Errorf("join a control group: %w", err)
	}
	// The next parent in this place sees by this lock that a member lives, and gives it time to leave. Without the lock
	// that parent kills the member at once, which is as safe.
	if unix.Flock(int(procs.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil { // #nosec G115 -- a descriptor
		_ = procs.Close()
		return nil
	}
	membership.Store(procs)
	return nil
}

// membership keeps the file open whose lock says that this process has joined its group.
var membership atomic.Pointer[os.File]

// lock takes the lock of the group. The error is unix.EWOULDBLOCK if its maker lives.
func (g *Group) lock() error {
	if err := unix.Flock(int(g.folder.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil { // #nosec G115 -- a descriptor
		return fmt.Errorf("lock %s: %w", g.Path, err)
	}
	return nil
}

func (g *Group) openFile(name string, flags int) (*os.File, error) {
	fd, err := unix.Openat(int(g.folder.Fd()), name, flags|unix.O_CLOEXEC, 0) // #nosec G115 -- a descriptor
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil // #nosec G115 -- a descriptor
}

// noteName is the extended attribute of a group's folder that holds its note. It belongs to the group, not to the path.
const noteName = "user.primacy.note"

// mostNote is the longest note.
const mostNote = 4096

// Note leaves a note on the group with the path, for whoever finds it after the death of its maker.
func Note(path string, text []byte) error {
	if len(text) > mostNote {
		return fmt.Errorf("note on control group %s: %d bytes are more than %d", path, len(text), mostNote)
	}
	if err := unix.Setxattr(path, noteName, text, 0); err != nil {
		return fmt.Errorf("note on control group %s: %w", path, err)
	}
	return nil
}

// note is the note on the group. It says whether there is one, even an empty one: only then Divide made the group.
func (g *Group) note() (text []byte, ours bool) {
	text = make([]byte, mostNote)
	n, err := unix.Fgetxattr(int(g.folder.Fd()), noteName, text) // #nosec G115 -- a descriptor
	if err != nil {
		return nil, false
	}
	return text[:n], true
}

// joined says whether a process that has joined the group of the member (Join) lives.
func (g *Group) joined() bool {
	procs, err := g.openFile(filepath.Join(memberName, procsFile), unix.O_RDONLY)
	if err != nil {
		return false
	}
	defer func() { _ = procs.Close() }()
	return errors.Is(unix.Flock(int(procs.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) // #nosec G115 -- a descriptor
}

// Empty says whether no process lives in the group or below it.
func (g *Group) Empty() (bool, error) {
	var text [4096]byte
	n, err := g.events.ReadAt(text[:], 0)
	switch {
	case errors.Is(err, unix.ENODEV): // the kernel removes only groups that are empty, and never fills them again
		return true, nil
	case err != nil && !errors.Is(err, io.EOF):
		return false, fmt.Errorf("%s of %s: %w", eventsFile, g.Path, err)
	}
	for line := range strings.Lines(string(text[:n])) {
		if state, is := strings.CutPrefix(line, "populated "); is {
			return strings.TrimSpace(state) == "0", nil
		}
	}
	return false, fmt.Errorf("%s of %s does not say whether it is populated", eventsFile, g.Path)
}

// Kill kills every process in the group and below it. They may live for another moment: see Empty.
func (g *Group) Kill() error {
	if empty, err := g.Empty(); err == nil && empty { // removed, perhaps
		return nil
	}
	if _, err := g.killer.Write([]byte("1")); err != nil {
		return fmt.Errorf("%s of %s: %w", killFile, g.Path, err)
	}
	return nil
}

// Remove removes the group, and groups below it, if they are empty. Then it gives the lock back.
func (g *Group) Remove() error {
	err := Clear(g.Path)
	g.Close()
	return err
}

// Close gives the lock back. The group stays.
func (g *Group) Close() {
	for _, f := range []*os.File{g.events, g.killer, g.folder} {
		_ = f.Close() // nil is closed, too
	}
}

// end kills what lives in the group, waits until nothing does, and removes it. If somebody made a group below it that we may not
// remove, it stays, and has no note any more: nothing lives in it. It says whether anything lived, and returns the note on the group.
func (g *Group) end() (lived bool, note []byte, err error) {
	defer g.Close()
	for deadline := time.Now().Add(mostDying); ; time.Sleep(time.Millisecond) {
		empty, err := g.Empty()
		if err == nil && empty {
			note, _ = g.note()
			if Clear(g.Path) != nil && len(note) > 0 {
				_ = Note(g.Path, nil)
			}
			return lived, note, nil
		}
		lived = true
		if err := errors.Join(err, g.Kill()); err != nil {
			return lived, nil, err
		}
		if time.Now().After(deadline) {
			return lived, nil, fmt.Errorf("it lives on, %v after it was killed", mostDying)
		}
	}
}

// mostDying is how long end waits for killed processes.
const mostDying = 5 * time.Second

// End kills what lives in a group that Work made, waits until nothing does, and removes the group if it may. It says whether
// anything lived. A group that is not there has ended.
func End(path string) (lived bool, err error) {
	g, err := open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENODEV):
		return false, nil
	case err != nil:
		return true, err
	}
	lived, _, err = g.end()
	return lived, err
}

// Clear removes an empty group, and all groups below it. A group has files, too, but these go with it.
func Clear(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := Clear(filepath.Join(path, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := unix.Rmdir(path); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}
