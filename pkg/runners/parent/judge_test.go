//go:build linux

package parent_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// judge holds every process of a member, so that it knows of each whether it lives: a process id may be used again, a
// descriptor of a process is of that process for ever. The test's goroutine owns it.
type judge struct {
	t    *testing.T
	held map[int]int // descriptors by process id
}

func newJudge(t *testing.T, pids ...int) *judge {
	t.Helper()
	j := &judge{t: t, held: map[int]int{}}
	t.Cleanup(func() {
		for _, fd := range j.held {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			_ = unix.Close(fd)
		}
	})
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatalf("process %d: %v", pid, err)
		}
		j.held[pid] = fd
	}
	return j
}

// alive are the processes that live.
func (j *judge) alive() (all []int) { return j.aliveAt(0) }

// aliveAt are the processes that live once that instant has come. It returns earlier if none does.
func (j *judge) aliveAt(at record.Instant) (all []int) {
	j.t.Helper()
	for pid, fd := range j.held {
		for {
			left := max(0, clock.Until(clock.Boottime(), at))
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int((left+time.Millisecond-1)/time.Millisecond)) // #nosec G115 -- a descriptor
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil {
				j.t.Fatal(err)
			}
			if n == 0 {
				all = append(all, pid)
			}
			break
		}
	}
	slices.Sort(all)
	return all
}

// kill kills some of the processes in one moment, in any order.
func (j *judge) kill(pids []int) {
	j.t.Helper()
	for _, i := range rand.Perm(len(pids)) {
		if err := unix.PidfdSendSignal(j.held[pids[i]], unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			j.t.Fatal(err)
		}
	}
}

// freeze stops some of the processes. If they are killed afterwards, none of them sees another die.
func (j *judge) freeze(pids []int) {
	for _, pid := range pids {
		_ = unix.PidfdSendSignal(j.held[pid], unix.SIGSTOP, nil, 0)
	}
}

// parts are the processes of a member that a trial kills.
type parts int

const (
	theParent parts = 1 << iota
	theMember
	theGuard
	theSupervisor
	theProgram
	everything
)

func (p parts) has(q parts) bool { return p&q == q }

func (p parts) String() string {
	var all []string
	for i, name := range []string{"parent", "member", "guard", "supervisor", "program"} {
		if p.has(1 << i) {
			all = append(all, name)
		}
	}
	return strings.Join(all, "+")
}

// family is a member with all its processes.
type family struct {
	*program
	of parts // those that are killed
	// ids are the processes by their part.
	ids map[parts]int
	// deadline is when the program must be dead.
	deadline record.Instant
	judge    *judge
}

// start returns once all processes live and the judge holds them.
func newFamily(t *testing.T, of parts, env ...string) *family {
	t.Helper()
	p := newProgram(t, "works")
	p.cmd.Env = append(p.cmd.Env, env...)
	p.start()
	_, n := helpers(func(name string) string {
		for _, v := range env {
			if value, is := strings.CutPrefix(v, name+"="); is {
				return value
			}
		}
		return ""
	})
	p.awaitText("the processes of a member", func() bool {
		return p.text("kill") != "" && len(strings.Fields(p.text("watchers"))) == 3 && len(strings.Fields(p.text("descendants"))) == n
	})
	f := &family{program: p, of: of, ids: map[parts]int{theParent: p.cmd.Process.Pid, theMember: p.member()}}
	for i, field := range strings.Fields(p.text("watchers")) {
		f.ids[[]parts{theGuard, theSupervisor, theProgram}[i]] = number(t, field)
	}
	kill, err := strconv.ParseInt(p.text("kill"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	f.deadline = record.Instant(kill).Add(500 * time.Millisecond)
	all := []int{}
	for _, field := range strings.Fields(p.text("descendants")) {
		all = append(all, number(t, field))
	}
	for _, part := range []parts{theMember, theGuard, theSupervisor, theProgram} {
		all = append(all, f.ids[part])
	}
	f.judge = newJudge(t, all...)
	f.tell(all)
	return f
}

// tell gives the parent the judge's list.
func (f *family) tell(pids []int) {
	f.t.Helper()
	if err := os.WriteFile(f.folder+"/judged", []byte(strings.Trim(strings.ReplaceAll(fmt.Sprint(pids), " ", "\n"), "[]")), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func number(t *testing.T, field string) int {
	t.Helper()
	n, err := strconv.Atoi(field)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// awaitText waits until the files of the processes say what they should.
func (p *program) awaitText(what string, done func() bool) {
	p.t.Helper()
	if err := p.events.SetReadDeadline(time.Now().Add(patience)); err != nil {
		p.t.Fatal(err)
	}
	for err := error(nil); !done(); _, err = p.events.Read(make([]byte, 64)) {
		if err != nil {
			p.t.Fatalf("%s: %v; watchers %q, descendants %q\n%s", what, err, p.text("watchers"), p.text("descendants"), p.out.String())
		}
	}
}

// strike kills the parts in one moment.
func (f *family) strike() {
	f.t.Helper()
	var pids []int
	for part, pid := range f.ids {
		if f.of.has(part) && part != theParent {
			pids = append(pids, pid)
		}
	}
	if f.of.has(theParent) {
		fd, err := unix.PidfdOpen(f.ids[theParent], 0)
		if err != nil {
			f.t.Fatal(err)
		}
		f.judge.held[f.ids[theParent]] = fd
		pids = append(pids, f.ids[theParent])
	}
	f.judge.freeze(pids)
	f.judge.kill(pids)
}

// verdict is what the judge found wrong in a trial; empty if nothing.
func (f *family) verdict() (wrong []string) {
	f.t.Helper()
	if f.of.has(theParent) {
		return f.unproved()
	}
	f.awaitText("a proof", func() bool {
		_, err := os.Stat(f.folder + "/proved")
		return err == nil || f.text("unproved") != ""
	})
	if why := f.text("unproved"); why != "" {
		wrong = append(wrong, "no proof: "+why)
	}
	// The parent stands still, so whoever lives now lived at the proof.
	if alive := f.judge.alive(); len(alive) > 0 {
		wrong = append(wrong, fmt.Sprintf("%v lived at the proof", alive))
	}
	if alive := f.text("proved"); alive != "" {
		wrong = append(wrong, "the parent itself found alive: "+alive)
	}
	looked, err := os.OpenFile(f.folder+"/looked", os.O_RDWR, 0)
	if err != nil {
		f.t.Fatal(err)
	}
	defer looked.Close()
	_, _ = looked.WriteString(".")
	f.status()
	return wrong
}

// unproved is verdict where the parent is killed. Nobody proves anything, so others wait for the lease, and nothing may
// live at its end. Only if all who could kill are killed as well, the program's helpers live on; the kernel kills the
// program itself then.
func (f *family) unproved() (wrong []string) {
	f.t.Helper()
	f.status()
	judged := f.judge
	if f.of.has(theParent | theMember | theGuard | theSupervisor) {
		program := f.ids[theProgram]
		judged = &judge{t: f.t, held: map[int]int{program: f.judge.held[program]}}
	}
	if alive := judged.aliveAt(f.deadline); len(alive) > 0 {
		wrong = append(wrong, fmt.Sprintf("%v lived when the term was over", alive))
	}
	if _, err := os.Stat(f.folder + "/proved"); err == nil {
		wrong = append(wrong, "a dead parent proved something")
	}
	return wrong
}

// hogs are processes that take all processors, until the test ends.
func hogs(t *testing.T, n int) {
	t.Helper()
	for range n {
		hog := exec.Command("/bin/sh", "-c", "while :; do :; done")
		if err := hog.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = hog.Process.Kill()
			_ = hog.Wait()
		})
	}
}
