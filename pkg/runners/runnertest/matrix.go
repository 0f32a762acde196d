//go:build linux

package runnertest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestRights checks that work which is a process is dead by its deadline, and soon after its member's
// death, or that the member refuses to run it. It checks that for all rights of the member, for all
// twists of the work (Twist), and with any of the work's watchers gone. The test binary's TestMain
// calls BecomeManager and Become.
//
// It needs root, and Linux 5.8 or later, where a mount of /proc has options of its own. With
// PRIMACY_LONG it checks every fate (what happens to member and watchers) with all rights, otherwise
// the most telling ones.
func TestRights(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start members of all rights, and mount /proc for them")
	}
	folder := newFolder(t)
	var table strings.Builder
	for _, r := range allRights {
		for i, f := range fates {
			if i >= telling && os.Getenv("PRIMACY_LONG") == "" && r.name != "root" && r.name != "somebody" {
				continue
			}
			t.Run(r.name+"/"+f.name, func(t *testing.T) {
				m := startMember(t, r, folder)
				for tries := 1; r.refuses == "" && !m.began(); tries++ {
					if tries == most {
						t.Fatalf("in each of %d members some work has ended before anything happened", most)
					}
					m.end()
					m = startMember(t, r, folder)
				}
				fmt.Fprintf(&table, "\n%-45s %-50s %s", r.name, f.name, m.meets(f))
			})
			if r.refuses != "" {
				break // without work, no fate differs from another
			}
		}
	}
	t.Logf("%d twists of work, of three processes each:%s", len(Twists), table.String())
}

// fate is what happens to a member and its watchers.
type fate struct {
	name   string
	member syscall.Signal
	// supervisors and guards are the signals that these processes get before the member gets its
	// signal; 0 for none.
	supervisors, guards syscall.Signal
}

// most is how often we start a member whose work does not live until all works have begun: on a busy machine that may take longer
// than a lease.
const most = 3

// telling counts the most telling fates, which come first in fates.
const telling = 2

var fates = []fate{
	{name: "frozen", member: syscall.SIGSTOP},
	{name: "frozen, supervisors killed", member: syscall.SIGSTOP, supervisors: syscall.SIGKILL},
	{name: "frozen, guards killed", member: syscall.SIGSTOP, guards: syscall.SIGKILL},
	{name: "frozen, supervisors frozen", member: syscall.SIGSTOP, supervisors: syscall.SIGSTOP},
	{name: "frozen, guards frozen", member: syscall.SIGSTOP, guards: syscall.SIGSTOP},
	{name: "not extended", member: syscall.SIGUSR1},
	{name: "not extended, supervisors and guards frozen", member: syscall.SIGUSR1, supervisors: syscall.SIGSTOP, guards: syscall.SIGSTOP},
	{name: "not extended, supervisors and guards killed", member: syscall.SIGUSR1, supervisors: syscall.SIGKILL, guards: syscall.SIGKILL},
	{name: "killed", member: syscall.SIGKILL},
	{name: "killed, supervisors killed", member: syscall.SIGKILL, supervisors: syscall.SIGKILL},
	{name: "killed, supervisors frozen", member: syscall.SIGKILL, supervisors: syscall.SIGSTOP},
	{name: "killed, guards killed", member: syscall.SIGKILL, guards: syscall.SIGKILL},
}

// newFolder makes a folder with this program, which every user can reach, and with the files that
// twists execute.
func newFolder(t *testing.T) string {
	t.Helper()
	folder := open(t, t.TempDir())
	for name, mode := range map[string]os.FileMode{plainBinary: 0o755, binaries[Setuid]: 0o755 | os.ModeSetuid, binaries[Capable]: 0o755} {
		path := filepath.Join(folder, name)
		copyProgram(t, path)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	// Version 2, effective; then the permitted and inheritable sets, low words first.
	const attribute = "\x01\x00\x00\x02" + "\x00\x20\x00\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00" // CAP_NET_RAW
	if err := unix.Setxattr(filepath.Join(folder, binaries[Capable]), "security.capability", []byte(attribute), 0); err != nil {
		t.Fatalf("give a file capabilities: %v (does the file system of the temporary folder know them?)", err)
	}
	return folder
}

func copyProgram(t *testing.T, path string) {
	t.Helper()
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o700)
	if err == nil {
		_, err = io.Copy(to, from)
	}
	if closeErr := to.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		t.Fatal(err)
	}
}

// open lets every user into a folder below the temporary folder.
func open(t *testing.T, folder string) string {
	t.Helper()
	for dir := folder; len(dir) > len(filepath.Clean(os.TempDir())); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o777); err != nil { // #nosec G302 -- that is the purpose
			t.Fatal(err)
		}
	}
	return folder
}

// member is a manager process with one work for each twist, seen from outside.
type member struct {
	t      *testing.T
	rights rights
	cmd    *exec.Cmd
	stage  *Stage
	said   sync.WaitGroup
	ended  chan string

	mu sync.Mutex
	// last is the latest deadline that was granted.
	last record.Instant
}

func startMember(t *testing.T, r rights, folder string) *member {
	t.Helper()
	m := &member{t: t, rights: r, stage: NewStage(t), cmd: r.command(filepath.Join(folder, plainBinary)), ended: make(chan string, len(Twists))}
	open(t, filepath.Dir(m.stage.Pipe))
	if err := os.Chmod(m.stage.Pipe, 0o666); err != nil { // #nosec G302 -- all work enters it
		t.Fatal(err)
	}
	// Make it in folder, which has a short name: the path of a socket must be short.
	temporary, err := os.MkdirTemp(folder, "")
	if err != nil {
		t.Fatal(err)
	}
	var twists []string
	for _, twist := range Twists {
		twists = append(twists, string(twist))
	}
	m.cmd.Env = append(m.cmd.Env, managerVariable+"="+string(Mob), pipeVariable+"="+m.stage.Pipe, folderVariable+"="+folder,
		twistVariable+"="+strings.Join(twists, ","), "TMPDIR="+open(t, temporary), "GORACE=atexit_sleep_ms=0")
	m.cmd.Stderr = os.Stderr
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		t.Fatalf("start a member as %s: %v", r.name, err)
	}
	m.said.Go(func() { m.listen(out) })
	t.Cleanup(func() {
		m.end()
		_ = m.cmd.Wait()
		m.sweep()
	})
	return m
}

// listen records what the member prints until the member is gone.
func (m *member) listen(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if n, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
			m.mu.Lock()
			m.last = record.Instant(n)
			m.mu.Unlock()
		} else {
			m.ended <- lines.Text()
		}
	}
}

// meets sends the fate's signals, and returns how the work ended.
func (m *member) meets(f fate) string {
	m.t.Helper()
	if m.rights.refuses != "" {
		return m.refuses()
	}
	brought := now()
	if f.supervisors != 0 && f.guards != 0 { // freeze both first, or either would act when the other is gone
		m.bring(syscall.SIGSTOP, "primacy-deadman")
		m.bring(syscall.SIGSTOP, "primacy-guard")
	}
	m.bring(f.supervisors, "primacy-deadman")
	m.bring(f.guards, "primacy-guard")
	if err := m.cmd.Process.Signal(f.member); err != nil {
		m.t.Fatal(err)
	}
	m.stage.AwaitEmpty()
	dead := now()
	if f.member == syscall.SIGKILL {
		return fmt.Sprintf("nothing lives %v later", dead.Sub(brought).Round(time.Millisecond))
	}
	m.end() // now all that it printed has been read
	if after := dead.Sub(m.last); after > slack {
		m.t.Errorf("something lived %v after the deadline", after)
	}
	return fmt.Sprintf("nothing lives %v before the deadline", m.last.Sub(dead).Round(time.Millisecond))
}

// end kills the member, and before it the frozen watchers, which nobody would end later.
func (m *member) end() {
	for _, pid := range family(m.t, m.cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = m.cmd.Process.Kill()
	m.said.Wait()
}

// began waits until all works have begun, and returns whether all lived until then.
func (m *member) began() bool {
	m.t.Helper()
	for n := 0; n < len(Twists); {
		select {
		case said := <-m.ended:
			m.t.Logf("a run of work has ended before anything happened: %s", said)
			return false
		case event := <-m.stage.events:
			switch what, _, _ := strings.Cut(event, " "); what {
			case "began":
				n++
			case "failed":
				m.t.Fatal(event)
			}
		case <-clock.NewTimer(patience).C:
			m.t.Fatal("some work does not begin")
		}
	}
	return true
}

// refuses checks that the member refuses to run any work, and returns its error.
func (m *member) refuses() (how string) {
	m.t.Helper()
	for range Twists {
		select {
		case how = <-m.ended:
		case <-clock.NewTimer(patience).C:
			m.t.Fatal("it refuses nothing")
		}
		if !strings.Contains(how, m.rights.refuses) {
			m.t.Errorf("it says %q, and nothing of %s", how, m.rights.refuses)
		}
	}
	if m.stage.Alive() {
		m.t.Error("there is work")
	}
	return how
}

// bring sends a signal to all descendants of the member with the given name.
func (m *member) bring(s syscall.Signal, name string) {
	m.t.Helper()
	if s == 0 {
		return
	}
	n := 0
	for _, pid := range family(m.t, m.cmd.Process.Pid) {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err == nil && strings.HasPrefix(string(line), name) {
			n++
			_ = syscall.Kill(pid, s)
		}
	}
	if n != len(Twists) {
		m.t.Logf("%d processes are a %s, of %d works", n, name, len(Twists))
	}
}

// family returns the descendants of the process from.
func family(t *testing.T, from int) []int {
	t.Helper()
	family := []int{from}
	for i := 0; i < len(family); i++ {
		family = append(family, Children(t, family[i])...)
	}
	return family[1:]
}

// Children returns the children of a process. It looks at no other process, since there may be
// thousands.
func Children(t *testing.T, pid int) (found []int) {
	t.Helper()
	lists, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task/*/children"))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		text, _ := os.ReadFile(list) // the task may have ended
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				found = append(found, child)
			}
		}
	}
	return found
}

// parents maps each process to its parent.
func parents(t *testing.T) map[int]int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	all := map[int]int{}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // the process is gone
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if len(fields) > 1 {
			all[pid], _ = strconv.Atoi(fields[1])
		}
	}
	return all
}

// sweep kills the work that a failed test has left.
func (m *member) sweep() {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environments {
		text, err := os.ReadFile(path)
		if pid, numeric := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && numeric == nil && strings.Contains(string(text), pipeVariable+"="+m.stage.Pipe+"\x00") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
