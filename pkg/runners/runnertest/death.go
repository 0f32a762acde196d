//go:build linux

package runnertest

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestDeath checks that work which is a process dies, with its helpers, when one of the processes
// that watch over it dies or freezes. The test binary's TestMain calls BecomeManager.
func TestDeath(t *testing.T) {
	for _, c := range []struct {
		name string
		act  Act
		run  func(*testing.T, *manager)
	}{
		{"of a manager that is killed", Fork, managerKilled},
		{"of a manager that is frozen", Ignore, managerFrozen},
		{"of a supervisor that is killed", Fork, supervisorKilled},
		{"of a supervisor that is killed, with what detached itself", Detach, supervisorKilled},
		{"of a manager that is killed, with what detached itself", Detach, managerKilled},
		{"of a supervisor that is killed while its manager is frozen", Ignore, bothGone},
		{"of a supervisor that is frozen", Ignore, supervisorFrozen},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := startManager(t, c.act)
			m.stage.Await("began")
			c.run(t, m)
			m.stage.AwaitEmpty()
		})
	}
}

// manager is a process that called BecomeManager, seen from outside.
type manager struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *bufio.Scanner
	stage  *Stage
}

func startManager(t *testing.T, act Act) *manager {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := &manager{t: t, stage: NewStage(t), cmd: exec.Command(self)}
	m.cmd.Env = append(os.Environ(), managerVariable+"="+string(act), pipeVariable+"="+m.stage.Pipe)
	m.cmd.Stderr = os.Stderr
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	m.stdout = bufio.NewScanner(out)
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = m.cmd.Process.Kill()
		_ = m.cmd.Wait()
	})
	return m
}

func (m *manager) signal(pid int, s syscall.Signal) {
	m.t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		m.t.Fatalf("signal %v to process %d: %v", s, pid, err)
	}
}

// extended waits for a deadline that the manager is about to grant; ended waits for the line that
// says how the run ended.
func (m *manager) extended() record.Instant {
	m.t.Helper()
	if !m.stdout.Scan() {
		m.t.Fatal("the manager is gone")
	}
	n, err := strconv.ParseInt(m.stdout.Text(), 10, 64)
	if err != nil {
		m.t.Fatalf("the manager says %q, not that it extends the term", m.stdout.Text())
	}
	return record.Instant(n)
}

func (m *manager) ended() string {
	m.t.Helper()
	for m.stdout.Scan() {
		if strings.HasPrefix(m.stdout.Text(), "ended:") {
			return m.stdout.Text()
		}
	}
	m.t.Fatal("the manager is gone")
	return ""
}

// supervisor returns the process between the manager and the work.
func (m *manager) supervisor() int {
	m.t.Helper()
	for child, parent := range parents(m.t) {
		if parent == m.cmd.Process.Pid {
			return child
		}
	}
	m.t.Fatal("there is no supervisor")
	return 0
}

func managerKilled(_ *testing.T, m *manager) {
	m.signal(m.cmd.Process.Pid, syscall.SIGKILL)
}

func managerFrozen(t *testing.T, m *manager) {
	m.extended()
	last := m.extended() // the work has outlived its first deadline
	m.signal(m.cmd.Process.Pid, syscall.SIGSTOP)
	m.stage.AwaitEmpty()
	dead := now()
	m.signal(m.cmd.Process.Pid, syscall.SIGKILL) // the manager's pipe ends after its last message
	for m.stdout.Scan() {
		if n, err := strconv.ParseInt(m.stdout.Text(), 10, 64); err == nil {
			last = record.Instant(n)
		}
	}
	t.Logf("dead %v before the deadline", last.Sub(dead))
	if dead > last {
		t.Errorf("the work of a frozen manager died %v after its deadline", dead.Sub(last))
	}
}

func supervisorKilled(t *testing.T, m *manager) {
	m.signal(m.supervisor(), syscall.SIGKILL)
	if got := m.ended(); got == "ended: <nil>" {
		t.Error("the runner says nothing of the end of its work")
	}
}

func bothGone(_ *testing.T, m *manager) {
	pid := m.supervisor()
	m.signal(m.cmd.Process.Pid, syscall.SIGSTOP)
	m.signal(pid, syscall.SIGKILL)
}

func supervisorFrozen(t *testing.T, m *manager) {
	pid := m.supervisor()
	m.signal(pid, syscall.SIGSTOP)
	m.extended()
	// The manager itself goes on, and does not extend any more.
	m.signal(m.cmd.Process.Pid, syscall.SIGUSR1)
	if got := m.ended(); !strings.Contains(got, "deadline") {
		t.Errorf("the manager says %q", got)
	}
}
