package exec

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

// members lists the processes of a group that live, in no order.
//
// kill(-group, 0) is not enough: it also finds zombies, which have stopped working, and
// which stay for ever where the container's first process reaps nobody.
func members(group int) ([]int, error) {
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
	var live []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", name, "stat"))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // it is gone
		}
		if err != nil {
			return nil, fmt.Errorf("look at process %d: %w", pid, err)
		}
		of, alive, err := parseStat(stat)
		if err != nil {
			return nil, fmt.Errorf("look at process %d: %w", pid, err)
		}
		if of == group && alive {
			live = append(live, pid)
		}
	}
	return live, nil
}

var errStat = errors.New("cannot read its stat")

// parseStat reads the group and the life of a process from /proc/<pid>/stat, which is
// described in proc(5). A zombie lives while it has another thread.
func parseStat(stat []byte) (group int, alive bool, err error) {
	// The name, in parentheses, may contain anything.
	_, rest, _ := cutLast(stat, ')')
	fields := bytes.Fields(rest)
	const state, pgrp, threads = 0, 2, 17 // proc(5) counts from the third field, so 3, 5 and 20
	if len(fields) <= threads {
		return 0, false, errStat
	}
	if group, err = strconv.Atoi(string(fields[pgrp])); err != nil {
		return 0, false, errStat
	}
	count, err := strconv.Atoi(string(fields[threads]))
	if err != nil {
		return 0, false, errStat
	}
	switch string(fields[state]) {
	case "Z", "X", "x":
		return group, count > 1, nil
	}
	return group, true, nil
}

func cutLast(s []byte, sep byte) (before, after []byte, found bool) {
	if i := bytes.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return nil, nil, false
}
