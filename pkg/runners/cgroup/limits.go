//go:build linux

package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The kernel gives controllers only to groups below a group that has no processes of its own. So the groups are
//
//	the delegated group
//	  primacy.parents            the parent
//	  primacy-N                  what its member starts
//	    member                   the member
//	    work-N                   a program and its watchers
//	      watchers               its guard and its supervisor, which its limits must not hit
//	      program                the program and all that it starts, which its watchers kill
const (
	parentsName  = "primacy.parents"
	memberName   = "member"
	watchersName = "watchers"
	programName  = "program"
)

// The files of controllers that we use.
const (
	controllersFile = "cgroup.controllers"
	subtreeFile     = "cgroup.subtree_control"
	memoryFile      = "memory.max"
	swapFile        = "memory.swap.max"
	togetherFile    = "memory.oom.group"
	memoryHits      = "memory.events"
	processesFile   = "pids.max"
	processesHits   = "pids.events"
)

// MemberOf is the group for the member in the group with the path, which Divide made.
func MemberOf(path string) string { return filepath.Join(path, memberName) }

// subdivide hands the controllers of the delegated group top down to the group with the path, and to groups below it. If it
// must, it first moves this process out of top.
func subdivide(top, path string, all ...Controller) Trees {
	return treesOf(all, func(c Controller) error {
		err := enable(top, c)
		if errors.Is(err, unix.EBUSY) {
			err = makeWay(top, c)
		}
		if err != nil {
			return err
		}
		return enable(path, c)
	})
}

// foresee says which controllers the delegated group top could hand down.
func foresee(top string) Trees {
	return treesOf([]Controller{Memory, Processes}, func(c Controller) error { return has(top, c) })
}

// treesOf tries each controller, and says which of them are held, and why others are not.
func treesOf(all []Controller, try func(Controller) error) (t Trees) {
	var why []string
	for _, c := range all {
		if err := try(c); err != nil {
			why = append(why, fmt.Sprintf("%s: %v", c, err))
			continue
		}
		t.Held = append(t.Held, c)
	}
	t.Why = strings.Join(why, "; ")
	return t
}

// enable gives groups directly below the group with the path a controller.
func enable(path string, c Controller) error {
	if err := has(path, c); err != nil {
		return err
	}
	return write(path, subtreeFile, "+"+string(c))
}

// has returns an error if a group does not have a controller: nobody above it has handed it down.
func has(path string, c Controller) error {
	all, err := os.ReadFile(filepath.Join(path, controllersFile))
	if err == nil && !slices.Contains(strings.Fields(string(all)), string(c)) {
		err = fmt.Errorf("%s does not have this controller", path)
	}
	return err
}

// makeWay moves this process from top into a group of its own, and enables the controller. It moves back if others are left
// in top: they are not ours to move.
func makeWay(top string, c Controller) error {
	own, err := Own()
	if err != nil {
		return err
	}
	aside := filepath.Join(top, parentsName)
	if own != top {
		return fmt.Errorf("%s has processes of its own", top)
	}
	if err := os.Mkdir(aside, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := write(aside, procsFile, "0"); err != nil {
		return err
	}
	err = enable(top, c)
	if err == nil {
		return nil
	}
	if errors.Is(err, unix.EBUSY) {
		err = fmt.Errorf("%s has other processes than this one", top)
	}
	err = errors.Join(err, write(top, procsFile, "0"))
	_ = os.Remove(aside) // another parent may be there
	return err
}

// write writes a file of a group. The kernel takes each text as a whole.
func write(path, file, text string) error {
	f, err := os.OpenFile(filepath.Join(path, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Work makes a group below the group with the path, for a program. Its watchers are born in the folder, with
// SysProcAttr.CgroupFD; the program belongs into the group within, which has the limits. The caller closes the folder, and
// calls End with the path of the work.
func Work(path string, l Limits) (folder *os.File, work, within string, err error) {
	return workOf(path, l.settings())
}

func workOf(path string, limits []setting) (folder *os.File, work, within string, err error) {
	work, err = os.MkdirTemp(path, "work-")
	if err != nil {
		return nil, "", "", fmt.Errorf("make a control group: %w", err)
	}
	within = filepath.Join(work, programName)
	watchers := filepath.Join(work, watchersName)
	if err = begin(work, within, limits); err == nil {
		err = os.Mkdir(watchers, 0o755)
	}
	if err == nil {
		folder, err = os.OpenFile(watchers, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, "", "", fmt.Errorf("make a control group: %w", errors.Join(err, Clear(work)))
	}
	return folder, work, within, nil
}

// Kill kills every process in the group with the path and below it. They may live for another moment.
func Kill(path string) error { return write(path, killFile, "1") }

// Enter moves this process, with all its threads, into the group with the path.
func Enter(path string) error { return write(path, procsFile, "0") }

// setting is a limit: the files of its controller, and what to write to each, in that order.
type setting struct {
	controller Controller
	files      [][2]string
}

// settings are the limits that are set. What does not fit into the memory is not swapped out, which would only move the
// limit; and all die at once, since nobody knows what half a program does.
func (l Limits) settings() (all []setting) {
	if l.Memory > 0 {
		all = append(all, setting{Memory, [][2]string{{swapFile, "0"}, {togetherFile, "1"}, {memoryFile, strconv.FormatUint(l.Memory, 10)}}})
	}
	if l.Processes > 0 {
		all = append(all, setting{Processes, [][2]string{{processesFile, strconv.FormatUint(l.Processes, 10)}}})
	}
	return all
}

// begin makes the group within work, and sets its limits. Nobody is in it yet.
func begin(work, within string, limits []setting) error {
	for _, l := range limits {
		if err := enable(work, l.controller); err != nil {
			return err
		}
	}
	if err := os.Mkdir(within, 0o755); err != nil {
		return err
	}
	for _, l := range limits {
		for _, f := range l.files {
			if err := write(within, f[0], f[1]); err != nil && !(f[0] == swapFile && errors.Is(err, fs.ErrNotExist) && !swaps()) {
				return err
			}
		}
	}
	return nil
}

// swaps says whether this machine has swap, or may have. A kernel that does not count swap has no file for its limit.
func swaps() bool {
	text, err := os.ReadFile("/proc/swaps")
	return err != nil && !errors.Is(err, fs.ErrNotExist) || bytes.Count(text, []byte("\n")) > 1
}

// HitsOf says what limits did in the group with the path.
func HitsOf(path string) (h Hits) {
	memory := counts(path, memoryHits)
	h.Killed, h.Beyond = memory["oom_kill"], memory["oom_kill"] > 0 && memory["oom"] == 0
	h.Refused = counts(path, processesHits)["max"]
	return h
}

// counts reads a file of names and numbers. A file that is not there has none.
func counts(path, file string) map[string]uint64 {
	text, _ := os.ReadFile(filepath.Join(path, file))
	all := map[string]uint64{}
	for line := range strings.Lines(string(text)) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseUint(number, 10, 64); err == nil {
			all[name] = n
		}
	}
	return all
}
