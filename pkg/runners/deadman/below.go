//go:build linux

package deadman

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// KillBelow kills the descendants of this process, and says whether any may still live. It spares guards and
// supervisors, and wakes those that are frozen: they kill what they watch over and end by themselves, even if
// this process dies in the next moment. Everybody includes them; then nobody kills what they leave but this
// process. Call it again until nothing lives.
func KillBelow(whom Victims) (living bool) {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return true // we look again
	}
	defer func() { _ = self.Release() }()
	return whom.below(watcher{self, self.Pid})
}

// Victims says whom to kill.
type Victims int

const (
	// AllButGuards: not guards and supervisors.
	AllButGuards Victims = iota + 1
	Everybody
)

// below kills the descendants of a process, and says whether any may still live.
func (v Victims) below(top watcher) (living bool) {
	missed := eachChild(top, func(child watcher) {
		spared := v == AllButGuards && isWatcher(child.pid)
		if v.below(child) || !spared {
			living = true
		}
		if spared {
			_ = child.Signal(syscall.SIGCONT)
		} else {
			_ = child.Kill()
		}
	})
	return living || missed
}

// mostHandles is how many handles eachChild holds at a time: there may be more children than this process may open files. Each
// level of the tree has its own.
func mostHandles() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fewHandles
	}
	return int(min(max(limit.Cur/4, fewHandles), manyHandles))
}

// Reading the children anew for each few handles takes long if there are thousands.
const fewHandles, manyHandles = 16, 4096

// eachChild calls f with each living child of top, and stops when top is gone: others have its children then. missed: there may
// be more.
func eachChild(top watcher, f func(child watcher)) (missed bool) {
	all, err := ChildrenOf(top.pid)
	if err != nil {
		return top.Signal(syscall.Signal(0)) == nil // without an answer top is gone, and has no children
	}
	for pids := range slices.Chunk(all, mostHandles()) {
		missedSome, lives := someChildren(top, pids, f)
		if !lives {
			return false
		}
		missed = missed || missedSome
	}
	now, err := ChildrenOf(top.pid)
	return missed || err != nil || slices.ContainsFunc(now, func(pid int) bool { return !slices.Contains(all, pid) })
}

// someChildren calls f with those processes that are living children of top. missed: there may be more; lives: top lives.
func someChildren(top watcher, pids []int, f func(child watcher)) (missed, lives bool) {
	children := map[int]*os.Process{}
	for _, pid := range pids {
		if child, err := os.FindProcess(pid); err == nil {
			children[pid] = child
		}
	}
	defer func() {
		for _, child := range children {
			_ = child.Release()
		}
	}()
	// The kernel may give a process id to a new process at any time. But if top is still the same process, a child that it had
	// before we took our handle, and has now, is the process of our handle.
	now, err := ChildrenOf(top.pid)
	if top.Signal(syscall.Signal(0)) != nil {
		return false, false
	}
	for _, pid := range now {
		if child := children[pid]; child != nil && child.Signal(syscall.Signal(0)) == nil && !zombie(pid) {
			f(watcher{child, pid})
		}
	}
	missed = err != nil || slices.ContainsFunc(now, func(pid int) bool { return slices.Contains(pids, pid) && children[pid] == nil })
	return missed, true
}

// isWatcher says whether a process is a guard or a supervisor, by its name.
func isWatcher(pid int) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err == nil && (bytes.Equal(line, []byte(arg0+"\x00")) || bytes.HasPrefix(line, []byte(argGuard+"\x00")))
}
