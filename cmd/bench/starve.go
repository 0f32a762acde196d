package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A control group that we make and that holds one process alone runs out of memory, as a container does, so that the
// kernel kills that process. That needs root, and the controller of memory, of version 1 or 2.

// groups are the folders in which we may make such a group, and the file of its limit.
var groups = []struct{ dir, limit string }{
	{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
	{"/sys/fs/cgroup", "memory.max"},
}

// headroom is the memory that a starved process may still take.
const headroom = 8 << 20

// hasGroups says whether starve works here.
func hasGroups() bool {
	dir, _, err := newGroup("bench-tries")
	if err == nil {
		err = os.Remove(dir)
	}
	return err == nil
}

// newGroup makes a group, and returns its folder and the file of its limit.
func newGroup(name string) (dir, limit string, err error) {
	for _, g := range groups {
		dir = filepath.Join(g.dir, name)
		if e := os.Mkdir(dir, 0o700); e != nil {
			err = errors.Join(err, e)
			continue
		}
		limit = filepath.Join(dir, g.limit)
		if _, e := os.Stat(limit); e == nil {
			return dir, limit, nil
		}
		err = errors.Join(err, fmt.Errorf("%s has no %s: %w", dir, g.limit, fs.ErrNotExist), os.Remove(dir))
	}
	return "", "", err
}

// starve gives a process little more memory than it has. The caller must call free once the process is dead.
func starve(pid int) (free func(), err error) {
	dir, limit, err := newGroup(fmt.Sprintf("bench-%d", pid))
	if err != nil {
		return nil, fmt.Errorf("control group: %w", err)
	}
	used, err := residentOf(pid)
	if err == nil {
		err = os.WriteFile(limit, []byte(strconv.FormatUint(used+headroom, 10)), 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("control group: %w", err), os.Remove(dir))
	}
	return func() { _ = os.Remove(dir) }, nil // it is empty: nothing is lost if it stays
}

// residentOf is the resident memory of a process, in bytes.
func residentOf(pid int) (uint64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("memory: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("memory: %w", err)
			}
			return kb << 10, nil
		}
	}
	return 0, errors.New("memory: /proc/PID/status has no VmRSS")
}
