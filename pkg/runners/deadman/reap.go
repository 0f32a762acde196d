//go:build linux

package deadman

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// reapEvery is the time between two looks for dead processes that we have inherited.
const reapEvery = time.Minute

// Reap reaps the dead processes that this process inherits after Adopt, until ctx ends. Without it, those that no program
// of ours started, such as a helper that a credential program left behind, would stay zombies as long as we live.
//
// Reap leaves alone what this process started itself with package os, or os/exec, and waits for. Where package os does not
// use pidfds (before Linux 5.4), nobody can tell what that is, and Reap reaps nothing.
func Reap(ctx context.Context) {
	for clock.Wait(ctx, reapEvery) {
		reapInherited()
	}
}

func reapInherited() {
	heir.Lock()
	defer heir.Unlock()
	pids, err := Children()
	if err != nil || !heir.adopts {
		return
	}
	var dead []int
	for _, pid := range pids {
		if !heir.watchers[pid] && zombie(pid) {
			dead = append(dead, pid)
		}
	}
	if len(dead) == 0 {
		return
	}
	// Look for the handles after the dead: a child of ours keeps its handle until it is reaped.
	held, err := handles()
	if err != nil {
		return
	}
	for _, pid := range dead {
		if !held[pid] {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

var errNoHandles = errors.New("package os has no handles of processes here")

// handles returns the ids of the processes to which this process has a handle (pidfd) open. Package os opens one for each
// child that it starts.
func handles() (map[int]bool, error) {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return nil, err
	}
	defer func() { _ = self.Release() }()
	infos, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil {
		return nil, err
	}
	held := map[int]bool{}
	for _, path := range infos {
		info, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // closed meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("look for handles of processes: %w", err)
		}
		for line := range strings.Lines(string(info)) {
			if name, value, _ := strings.Cut(line, ":"); name == "Pid" {
				if pid, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
					held[pid] = true
				}
			}
		}
	}
	if !held[os.Getpid()] {
		return nil, errNoHandles
	}
	return held, nil
}
