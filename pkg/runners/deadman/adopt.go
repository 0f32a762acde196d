package deadman

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// heir is what this process knows of its children. It is the process's, as is what the
// kernel was told.
var heir = struct {
	sync.Mutex
	adopts bool
	// supervisors are those that live.
	supervisors map[int]bool
}{supervisors: map[int]bool{}}

// Adopt makes this process the heir of what a supervisor leaves that is killed: all that
// its program had started becomes ours then, also what had left its group, and is killed.
//
// It is for the main function of a program whose other children stay in its session: when a
// supervisor is killed, every child that leads a session of its own is taken for an orphan.
func Adopt() error {
	heir.Lock()
	defer heir.Unlock()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a subreaper: %w", err)
	}
	heir.adopts = true
	return nil
}

// startSupervisor starts one that is known before anybody looks for orphans.
func startSupervisor(path string, args []string, attributes *os.ProcAttr) (*os.Process, error) {
	heir.Lock()
	defer heir.Unlock()
	s, err := os.StartProcess(path, args, attributes)
	if err == nil {
		heir.supervisors[s.Pid] = true
	}
	return s, err
}

// waitSupervisor waits for the end of one, whose process id may then be another's.
func waitSupervisor(s *os.Process) {
	_, _ = s.Wait()
	heir.Lock()
	defer heir.Unlock()
	delete(heir.supervisors, s.Pid)
}

// killOrphans kills and reaps the children that no living supervisor has, and says whether
// there were any. Their children become ours when they die.
func killOrphans() bool {
	heir.Lock()
	defer heir.Unlock()
	if !heir.adopts {
		return false
	}
	all, err := processes()
	if err != nil {
		return true // looked at again soon
	}
	self := os.Getpid()
	session, err := unix.Getsid(0)
	if err != nil {
		return false
	}
	found := false
	for _, p := range all {
		if p.parent != self || p.session == session || heir.supervisors[p.pid] {
			continue
		}
		found = true
		_ = unix.Kill(p.pid, unix.SIGKILL)
		_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
	}
	return found
}
