//go:build linux

package deadman

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// processes lists all processes that we can see, in no order.
func processes() ([]int, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := proc.Readdirnames(-1)
	if closeErr := proc.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var all []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			all = append(all, pid)
		}
	}
	return all, nil
}

// empty says whether no process of a group lives, as far as we can see.
//
// If kill(-group, 0) finds no process, the group is empty. But kill also finds zombies, which stay
// for ever if the container's first process does not reap. So we look at the processes that we can
// see.
func empty(group int) bool {
	if err := unix.Kill(-group, 0); errors.Is(err, unix.ESRCH) {
		return true
	}
	pids, err := processes()
	if err != nil {
		return false
	}
	zombies := 0
	for _, pid := range pids {
		if g, err := unix.Getpgid(pid); err != nil || g != group {
			continue
		}
		if alive(pid) {
			return false
		}
		zombies++
	}
	return zombies > 0 // no zombie seen: the process found was born meanwhile, or is hidden from us
}

// alive says whether a process lives. A zombie does not; a process that we may not look at does.
func alive(pid int) bool {
	s, err := stateOf(pid)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return false // it is gone
	}
	return err != nil || !s.zombie()
}

// state is the state of a process, as in proc(5).
type state struct {
	letter  byte
	threads int
}

// zombie says whether the process has ended. Linux also shows Z for a process whose main thread has ended, but
// that process goes on while it has another thread.
func (s state) zombie() bool {
	return (s.letter == 'Z' || s.letter == 'X' || s.letter == 'x') && s.threads <= 1
}

func stateOf(pid int) (state, error) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return state{}, err
	}
	return parseStat(stat)
}

var errStat = errors.New("cannot read its stat")

// parseStat reads /proc/<pid>/stat, which is described in proc(5).
func parseStat(stat []byte) (state, error) {
	// The process's name, in parentheses, may contain anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const letter, threads = 0, 17 // proc(5) numbers them 3 and 20; fields begins with its third
	if len(fields) <= threads {
		return state{}, errStat
	}
	n, err := strconv.Atoi(string(fields[threads]))
	if err != nil || len(fields[letter]) != 1 {
		return state{}, errStat
	}
	return state{fields[letter][0], n}, nil
}
