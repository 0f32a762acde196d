//go:build linux

package deadman

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Children lists this process's children, zombies too, in no order. It may miss a child that was
// just born, or just inherited.
//
// The kernel lists them for us, even those that /proc itself hides: processes of other users if it is
// mounted with hidepid, and processes that hide themselves (PR_SET_DUMPABLE).
func Children() ([]int, error) { return ChildrenOf(os.Getpid()) }

// ChildrenOf lists the children of another process of our user, in the same way.
func ChildrenOf(pid int) ([]int, error) {
	tasks := filepath.Join("/proc", strconv.Itoa(pid), "task")
	threads, err := os.ReadDir(tasks)
	if err != nil {
		return nil, fmt.Errorf("list threads: %w", err)
	}
	var all []int
	for _, thread := range threads {
		text, err := os.ReadFile(filepath.Join(tasks, thread.Name(), "children"))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // the thread has ended
		}
		if err != nil {
			return nil, fmt.Errorf("list children: %w", err)
		}
		for _, field := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				return nil, fmt.Errorf("list children: %w", err)
			}
			all = append(all, pid)
		}
	}
	return all, nil
}

// SeeProcesses returns an error if this process cannot list its living children.
func SeeProcesses() error {
	self, err := os.Readlink("/proc/self")
	if err != nil {
		return fmt.Errorf("%w (without /proc nobody can tell what lives: mount it)", err)
	}
	if self != strconv.Itoa(os.Getpid()) {
		return fmt.Errorf("/proc is that of other processes: we are %d, and %s there (mount a /proc of this process namespace)", os.Getpid(), self)
	}
	if _, err := os.ReadFile("/proc/thread-self/children"); err != nil {
		return fmt.Errorf("%w (nobody can tell what lives: the kernel must be built with CONFIG_PROC_CHILDREN)", err)
	}
	return nil
}
