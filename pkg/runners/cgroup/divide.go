//go:build linux

package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// prefix is how the names of our groups begin.
const prefix = "primacy-"

// Left is what dead makers left in their groups.
type Left struct {
	// Notes are those on the groups in which nothing lives.
	Notes [][]byte
	// LivesOn says what could not be killed, a text for each group. Such a group stays as it is, and proves nothing.
	LivesOn []string
}

// Divide makes a group below the group of this process, or beside it (DelegateSubgroup= of systemd). It kills what is left
// in such groups whose makers have died, and says what that was. It returns nil without an error if the mode wants no group
// here. Errors wrap ErrIndivisible; with Auto a process can go on without a group.
func Divide(mode Mode) (g *Group, left Left, err error) {
	if mode == Never {
		return nil, Left{}, nil
	}
	top, given, err := place()
	if mode != Always && (err != nil || !given) {
		return nil, Left{}, nil
	}
	if err == nil {
		left, err = killOrphans(top)
	}
	if err == nil {
		g, err = newGroup(top)
	}
	if err != nil {
		for _, what := range left.LivesOn {
			err = fmt.Errorf("%w; %s", err, what)
		}
		return nil, left, fmt.Errorf("%w: %w", ErrIndivisible, err)
	}
	return g, left, nil
}

// place returns the group to divide, and says whether a service manager has given it to the service of this process. It is
// this process's own group, or the one above: systemd may put a service into a group below the delegated one
// (DelegateSubgroup=). If our own group is a unit, the one above is not ours: it may be that of a user's service manager.
func place() (top string, given bool, err error) {
	own, err := Own()
	if err != nil {
		return "", false, err
	}
	if above := filepath.Dir(own); !delegated(own) && !isUnit(own) && delegated(above) {
		return above, true, nil
	}
	return own, delegated(own), nil
}

// isUnit says whether a group is that of a unit of systemd, by its name.
func isUnit(path string) bool {
	return slices.Contains([]string{".service", ".scope", ".slice"}, filepath.Ext(path))
}

// killOrphans kills what is left in groups below top whose makers have died, and removes these groups. A
// process that has joined such a group, and lives, is given mostLeaving to leave in order: it lost its parent.
func killOrphans(top string) (left Left, err error) {
	entries, err := os.ReadDir(top)
	if err != nil {
		return left, err
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		g, err := open(filepath.Join(top, e.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENODEV), errors.Is(err, fs.ErrPermission):
			continue // somebody else has removed it, or it is another user's
		case err != nil:
			return left, err
		}
		if _, ours := g.note(); !ours || g.lock() != nil {
			g.Close()
			continue // a stranger made it, or its maker lives
		}
		for until := time.Now().Add(mostLeaving); g.joined() && time.Now().Before(until); {
			time.Sleep(lookAgain)
		}
		_, note, err := g.end()
		switch {
		case err != nil: // it keeps its note: whoever finds it empty may use that
			left.LivesOn = append(left.LivesOn, fmt.Sprintf("what a dead process left in %s: %v", g.Path, err))
		case len(note) > 0:
			left.Notes = append(left.Notes, note)
		}
	}
	return left, nil
}

const (
	mostLeaving = 15 * time.Second
	lookAgain   = 10 * time.Millisecond
)

// newGroup makes a group below top. The empty note marks it as ours, once its lock is held.
func newGroup(top string) (*Group, error) {
	path, err := os.MkdirTemp(top, prefix)
	if err != nil {
		return nil, err
	}
	g, err := open(path)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	if err := errors.Join(g.lock(), Note(path, nil), os.Mkdir(MemberOf(path), 0o755)); err != nil {
		return nil, errors.Join(err, g.Remove())
	}
	g.Trees = subdivide(top, path, Memory, Processes)
	return g, nil
}

// Own is the folder of this process's own group.
func Own() (string, error) {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	return folderOf(string(groups), string(mounts))
}

// folderOf finds the folder of a process's group in its files cgroup and mountinfo in /proc.
func folderOf(groups, mounts string) (string, error) {
	path := ""
	for line := range strings.Lines(groups) {
		if p, is := strings.CutPrefix(line, "0::"); is {
			path = strings.TrimSuffix(strings.TrimSuffix(p, "\n"), " (deleted)")
		}
	}
	if path == "" {
		return "", errors.New("no control groups of version 2 (mount cgroup2, or boot with systemd.unified_cgroup_hierarchy=1)")
	}
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if len(fields) < 5 || !strings.HasPrefix(after, "cgroup2 ") {
			continue
		}
		below, err := filepath.Rel(fields[3], path)
		if err != nil || below == ".." || strings.HasPrefix(below, "../") {
			continue // this mount does not show our group
		}
		return filepath.Join(fields[4], below), nil
	}
	return "", fmt.Errorf("no mount of cgroup2 shows the control group %s", path)
}

// delegated says whether a service manager has given the group to its service. systemd marks such groups.
func delegated(path string) bool {
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		var value [1]byte
		if n, err := unix.Getxattr(path, name, value[:]); err == nil && n == 1 && value[0] == '1' {
			return true
		}
	}
	return false
}

// Survey says which limits a member has for its programs if it is started from where this process was, with Auto. It
// changes nothing, so it does not know whether other processes will be in the way.
func Survey() Trees {
	top, given, err := place()
	if err != nil {
		return Trees{Why: err.Error()}
	}
	if !given {
		return Trees{Why: "no service manager has delegated the control group " + top}
	}
	return foresee(top)
}
