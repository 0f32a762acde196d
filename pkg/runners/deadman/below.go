//go:build linux

package deadman

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
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
	before, err := ChildrenOf(top.pid)
	if err != nil {
		return top.Signal(syscall.Signal(0)) == nil
	}
	children := map[int]*os.Process{}
	for _, pid := range before {
		if child, err := os.FindProcess(pid); err == nil {
			children[pid] = child
		}
	}
	defer func() {
		for _, child := range children {
			_ = child.Release()
		}
	}()
	// As in killBelow: a child in both lists of a living process is the process of our handle.
	again, err := ChildrenOf(top.pid)
	if top.Signal(syscall.Signal(0)) != nil {
		return false // what it left is another's child now
	}
	for _, pid := range again {
		child := children[pid]
		if child == nil {
			living = true
			continue
		}
		if child.Signal(syscall.Signal(0)) != nil || zombie(pid) {
			continue
		}
		spared := v == AllButGuards && isWatcher(pid)
		if v.below(watcher{child, pid}) || !spared {
			living = true
		}
		if spared {
			_ = child.Signal(syscall.SIGCONT)
		} else {
			_ = child.Kill()
		}
	}
	return living || err != nil
}

// isWatcher says whether a process is a guard or a supervisor, by its name.
func isWatcher(pid int) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err == nil && (bytes.Equal(line, []byte(arg0+"\x00")) || bytes.HasPrefix(line, []byte(argGuard+"\x00")))
}
