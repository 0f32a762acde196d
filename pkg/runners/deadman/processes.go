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

// entry is a process of this machine.
type entry struct {
	pid, parent, group, session int
	// alive is false for a zombie, which has stopped working, and which stays for ever
	// where the container's first process reaps nobody.
	alive bool
}

// processes lists all processes, in no order.
func processes() ([]entry, error) {
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
	var all []entry
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
		e, err := parseStat(stat)
		if err != nil {
			return nil, fmt.Errorf("look at process %d: %w", pid, err)
		}
		e.pid = pid
		all = append(all, e)
	}
	return all, nil
}

// members lists the processes of a group that live, in no order.
//
// kill(-group, 0) is not enough: it also finds zombies.
func members(group int) ([]int, error) {
	all, err := processes()
	var live []int
	for _, e := range all {
		if e.group == group && e.alive {
			live = append(live, e.pid)
		}
	}
	return live, err
}

var errStat = errors.New("cannot read its stat")

// parseStat reads /proc/<pid>/stat, which is described in proc(5). A zombie lives while
// it has another thread.
func parseStat(stat []byte) (entry, error) {
	// The name, in parentheses, may contain anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const state, ppid, pgrp, sid, threads = 0, 1, 2, 3, 17 // proc(5) counts from the third field, so 3, 4, 5, 6 and 20
	if len(fields) <= threads {
		return entry{}, errStat
	}
	var numbers [4]int
	for i, at := range []int{ppid, pgrp, sid, threads} {
		n, err := strconv.Atoi(string(fields[at]))
		if err != nil {
			return entry{}, errStat
		}
		numbers[i] = n
	}
	e := entry{parent: numbers[0], group: numbers[1], session: numbers[2], alive: true}
	switch string(fields[state]) {
	case "Z", "X", "x":
		e.alive = numbers[3] > 1
	}
	return e, nil
}

// seeProcesses says why processes cannot be looked at, if that is so.
func seeProcesses() error {
	stat, err := os.ReadFile("/proc/self/stat")
	if err == nil {
		_, err = parseStat(stat)
	}
	return err
}
