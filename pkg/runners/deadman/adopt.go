//go:build linux

package deadman

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
)

// heir is what this process knows of its children. It is global, as the kernel's subreaper setting
// is.
var heir = struct {
	sync.Mutex
	adopts bool
	// watchers are the living guards and supervisors. A supervisor becomes our child when its guard
	// dies. It must then kill by itself: we may be frozen in the next moment.
	watchers map[int]bool
	// group is the path of our own control group; empty if we have none for ourselves. trees says which limits programs
	// may have in it, with all that they start.
	group string
	trees cgroup.Trees
}{watchers: map[int]bool{}}

// Adopt makes this process inherit the processes that a supervisor and its guard leave when both are
// killed: all that the program had started, even what had left its process group. We then kill them. Run Reap as well: it
// reaps what else this process inherits.
//
// Call it in the main function of a program whose other children stay in its session: when a guard
// is killed, every child that leads its own session counts as an orphan.
func Adopt() error {
	heir.Lock()
	defer heir.Unlock()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a subreaper: %w", err)
	}
	heir.adopts = true
	return nil
}

// Within says that this process has the control group with the path for itself. From then on each program gets a group
// of its own below it, with its supervisor and guard. When the program ends, we also kill what is left in its group:
// processes that have entered another process namespace may no longer descend from the program. Programs may have the
// limits that trees says. Without a control group the path is empty, and trees may say why.
func Within(group string, trees cgroup.Trees) {
	heir.Lock()
	defer heir.Unlock()
	heir.group, heir.trees = group, trees
}

// Trees says which limits a program may have together with all that it starts (Confinement.Tree).
func Trees() cgroup.Trees {
	heir.Lock()
	defer heir.Unlock()
	return heir.trees
}

// errNoTree: a program was to have limits together with all that it starts.
var errNoTree = errors.New("this process has no control group of its own for it")

// startGuard starts a guard, and records it before anybody looks for orphans. It returns the path of the program's control
// group, and of the group within it for the program alone, which has the limits of tree. Both are empty if none could be made: a
// container may forbid it. All are in our group then. But the guard is not started if tree has limits, which must hold before the
// program begins.
func startGuard(path string, args []string, attributes *os.ProcAttr, tree cgroup.Limits) (g *os.Process, group, within string, err error) {
	heir.Lock()
	defer heir.Unlock()
	free := tree == cgroup.Limits{}
	g, group, within, err = startApart(path, args, attributes, tree)
	switch {
	case err != nil && free:
		group, within = "", ""
		g, err = os.StartProcess(path, append(args, ""), attributes)
	case err != nil:
		err = &ConfineError{treeName, err}
	}
	if err != nil {
		return nil, "", "", err
	}
	heir.watchers[g.Pid] = true
	return g, group, within, nil
}

// startApart starts the guard of a program in a control group, beside the group within for the program. heir is locked. After an
// error it leaves the attributes as they were.
func startApart(path string, args []string, attributes *os.ProcAttr, tree cgroup.Limits) (g *os.Process, group, within string, err error) {
	if heir.group == "" {
		return nil, "", "", errNoTree
	}
	folder, group, within, err := cgroup.Work(heir.group, tree)
	if err != nil {
		return nil, "", "", err
	}
	defer func() { _ = folder.Close() }()
	attributes.Sys.UseCgroupFD, attributes.Sys.CgroupFD = true, int(folder.Fd()) // #nosec G115 -- a descriptor
	if g, err = os.StartProcess(path, append(args, within), attributes); err != nil {
		attributes.Sys.UseCgroupFD = false
		return nil, "", "", errors.Join(err, cgroup.Clear(group))
	}
	return g, group, within, nil
}

// waitGuard waits for the end of the guard g, whose process id may belong to another process
// afterwards. It says whether the guard ended by itself and left nothing.
func waitGuard(g *os.Process) (complete bool) {
	state, err := g.Wait()
	heir.Lock()
	defer heir.Unlock()
	delete(heir.watchers, g.Pid)
	return err == nil && state.Success()
}

// watches records that a supervisor lives; unwatches records that it is done or dead.
func watches(supervisor int) {
	heir.Lock()
	defer heir.Unlock()
	heir.watchers[supervisor] = true
}

func unwatches(supervisor int) {
	heir.Lock()
	defer heir.Unlock()
	delete(heir.watchers, supervisor)
}

// killOrphans kills and reaps the children that are no watchers (guards or supervisors), and says
// whether there were any. When a killed child dies, its own children become ours. A child whose session
// cannot be told may be an orphan: it counts as one, and is not killed, since it may be ours.
func killOrphans() bool {
	heir.Lock()
	defer heir.Unlock()
	if !heir.adopts {
		return false
	}
	pids, err := Children()
	if err != nil {
		return true // we look again soon
	}
	ours, untold := unix.Getsid(0)
	found := false
	for _, pid := range pids {
		if heir.watchers[pid] {
			continue
		}
		session, err := unix.Getsid(pid)
		switch {
		case errors.Is(err, unix.ESRCH): // it is gone
		case err != nil, untold != nil:
			found = true
		case session != ours:
			found = true
			_ = unix.Kill(pid, unix.SIGKILL)
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
	return found
}
