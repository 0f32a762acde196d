//go:build linux

package leaderelection_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// posts is a rig where members of Primacy have kube-scheduler as their runner.
type posts struct {
	*rig
	primacy, scheduler string
	// births is a pipe into which each scheduler's process writes its number and the time, before it becomes kube-scheduler.
	births string
	groups int
	lives  []*life
	ends   sync.WaitGroup
}

// life is that of one process of a scheduler. gone is zero while it lives.
type life struct {
	pid        int
	born, gone time.Time
}

// post is a member, with its parent.
type post struct {
	name   string
	cmd    *exec.Cmd // the parent
	done   chan struct{}
	synced bool
	works  map[uint64]*work // by term
	latest uint64
	tail   []string
}

func newPosts(t *testing.T, r *rig, scheduler string) *posts {
	t.Helper()
	dir := t.TempDir()
	p := &posts{rig: r, scheduler: scheduler, primacy: filepath.Join(dir, "primacy"), births: filepath.Join(dir, "births")}
	goCommand(t, moduleDir(t, "github.com/primacy-dev/primacy"), "build", "-o", p.primacy, "./cmd/primacy")
	if err := unix.Mkfifo(p.births, 0o600); err != nil {
		t.Fatal(err)
	}
	births, err := os.OpenFile(p.births, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines := bufio.NewScanner(births); lines.Scan(); {
			p.begins(lines.Text())
		}
	})
	t.Cleanup(func() {
		_ = births.Close()
		reading.Wait()
		p.ends.Wait()
	})
	return p
}

// begins notes that a scheduler's process begins, and waits for its end.
func (p *posts) begins(line string) {
	var pid int
	var at int64
	if _, err := fmt.Sscan(line, &pid, &at); err != nil {
		p.t.Errorf("the birth %q: %v", line, err)
		return
	}
	l := &life{pid: pid, born: time.Unix(0, at)}
	fd, err := unix.PidfdOpen(pid, 0)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lives = append(p.lives, l)
	p.any.Broadcast()
	if err != nil { // it has ended
		l.gone = time.Now()
		return
	}
	p.ends.Go(func() {
		for {
			_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1) // #nosec G115 -- a descriptor
			if err == nil {
				break
			}
		}
		now := time.Now()
		_ = unix.Close(fd)
		p.mu.Lock()
		defer p.mu.Unlock()
		l.gone = now
		p.any.Broadcast()
	})
}

// configure writes the configuration of a new group, which nobody has led.
func (p *posts) configure() string {
	p.t.Helper()
	p.groups++
	command := []string{"/bin/sh", "-c", `echo "$$ $(date +%s%N)" >"$0"; exec "$@"`, p.births, p.scheduler, "--leader-elect=false"}
	command = append(command, p.arguments()...)
	list, err := json.Marshal(command)
	if err != nil {
		p.t.Fatal(err)
	}
	name := filepath.Join(p.t.TempDir(), "primacy.yaml")
	text := fmt.Sprintf(`apiVersion: primacy.dev/v1alpha1
kind: PrimacyConfiguration
group: schedulers-%d
namespace: %s
member: {revision: "1"}
elections:
- name: scheduler-%[1]d
  bootstrap: immediate
  runners:
  - name: scheduler
    exec:
      command: %[3]s
      output: {linesPerSecond: 100000, bytesPerSecond: 100000000}
`, p.groups, p.namespace, list)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return name
}

// employ starts a member.
func (p *posts) employ(config, name string) *post {
	p.t.Helper()
	m := &post{name: name, works: map[uint64]*work{}}
	m.cmd = exec.Command(p.primacy, "run", "--config", config, "--kubeconfig", p.cluster.Kubeconfig, "--name", name, "--log-format", "json")
	m.done = p.launch(m.cmd, syscall.SIGTERM, func(line []byte) { p.listens(m, line) }, func() {})
	return m
}

// listens takes in one line of a member's log.
func (p *posts) listens(m *post, line []byte) {
	var e struct {
		Msg, Stream, Line, Preferred string
		Term                         uint64
	}
	if err := json.Unmarshal(line, &e); err != nil {
		e.Msg = string(line)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.any.Broadcast()
	if e.Msg != "output" {
		m.synced = m.synced || e.Preferred == "(unset)"
		m.tail = append(m.tail[max(0, len(m.tail)-30):], string(line))
		return
	}
	w := m.works[e.Term]
	if w == nil {
		w = &work{id: fmt.Sprintf("%s in term %d", m.name, e.Term)}
		m.works[e.Term], m.latest = w, e.Term
	}
	if err := w.hear(e.Line); err != nil {
		p.t.Error(err)
	}
}

// working is the work of the member's latest term; an empty one if it has none. The rig is locked.
func (m *post) working() *work {
	if w := m.works[m.latest]; w != nil {
		return w
	}
	return &work{}
}

// awaits is until, and shows the members' logs if that does not come.
func (p *posts) awaits(what string, of []*post, holds func() bool) {
	p.t.Helper()
	defer func() {
		if p.t.Failed() {
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, m := range of {
				p.t.Logf("%s said last:\n%s", m.name, strings.Join(m.tail, "\n"))
			}
		}
	}()
	p.until(what, holds)
}

// whom says which processes are killed.
type whom int

const (
	member whom = iota + 1
	memberAndParent
)

// round kills the one of two members whose scheduler works, and waits until the other's does.
func (p *posts) round(victims whom) handed {
	p.t.Helper()
	config := p.configure()
	first := p.employ(config, "first-"+strconv.Itoa(p.groups))
	all := []*post{first}
	p.awaits("the scheduler of the first works", all, func() bool { return len(first.working().bound) > 20 })
	second := p.employ(config, "second-"+strconv.Itoa(p.groups))
	all = append(all, second)
	p.awaits("the second knows the group", all, func() bool { return second.synced })
	p.mu.Lock()
	more := len(first.working().bound) + 60
	p.mu.Unlock()
	p.awaits("it stands by", all, func() bool { return len(first.working().bound) > more }) // 3 s at least

	pids := childrenOf(p.t, first.cmd.Process.Pid)
	if len(pids) != 1 {
		p.t.Fatalf("the children of the parent: %v", pids)
	}
	if victims == memberAndParent {
		pids = append([]int{first.cmd.Process.Pid}, pids...)
	}
	p.mu.Lock()
	before := len(p.lives)
	p.mu.Unlock()
	killed := time.Now()
	for _, pid := range pids {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			p.t.Fatal(err)
		}
	}
	var h handed
	p.awaits("the scheduler of the second works", all, func() bool { return len(second.working().bound) > 20 && p.apiTold(second.working()) })
	<-first.done
	if by := first.cmd.ProcessState.Sys().(syscall.WaitStatus); by.Signal() != syscall.SIGKILL {
		p.t.Errorf("the parent ended with %v", first.cmd.ProcessState)
	}
	p.mu.Lock()
	w := second.working()
	old, next := p.lives[before-1], p.lives[len(p.lives)-1]
	h.first, h.gone, h.born, h.apart = w.firstBound.Sub(killed), old.gone.Sub(killed), next.born.Sub(killed), next.born.Sub(old.gone)
	for _, b := range slices.Backward(p.bound) {
		if w.bound[b.pod] {
			h.api = b.at.Sub(killed)
		}
	}
	p.mu.Unlock()
	p.dismiss(all)
	return h
}

// apiTold says whether the API has told of a binding of this work. The rig is locked.
func (p *posts) apiTold(w *work) bool {
	return slices.ContainsFunc(p.bound, func(b binding) bool { return w.bound[b.pod] })
}

// dismiss ends the members, and judges what their schedulers did.
func (p *posts) dismiss(all []*post) {
	p.t.Helper()
	if found := p.judge(all); found != nil {
		p.t.Errorf("at work at once: %v", found)
	}
}

// judge ends the members. It returns which schedulers lived, or worked, at once.
func (p *posts) judge(all []*post) (found []string) {
	p.t.Helper()
	for _, m := range all {
		_ = m.cmd.Process.Signal(syscall.SIGTERM) // it may be gone
		<-m.done
	}
	p.awaits("no scheduler lives", all, func() bool {
		return !slices.ContainsFunc(p.lives, func(l *life) bool { return l.gone.IsZero() })
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	var works []work
	for _, m := range all {
		for _, w := range m.works {
			works = append(works, *w)
		}
	}
	credit(works, p.bound)
	found = conflicts(works)
	slices.SortFunc(p.lives, func(a, b *life) int { return a.born.Compare(b.born) })
	for i, l := range p.lives {
		for _, later := range p.lives[i+1:] {
			if both := l.gone.Sub(later.born); both >= 0 {
				found = append(found, fmt.Sprintf("processes %d and %d for %v", l.pid, later.pid, both))
			}
		}
	}
	p.lives, p.bound = nil, nil
	return found
}

// plant runs two members that know nothing of each other: the judges must notice.
func (p *posts) plant() {
	p.t.Helper()
	all := []*post{p.employ(p.configure(), "planted-1"), p.employ(p.configure(), "planted-2")}
	p.awaits("both work", all, func() bool { return len(all[0].working().bound) > 20 && len(all[1].working().bound) > 20 })
	found := p.judge(all)
	if len(found) != 2 || !strings.HasPrefix(found[1], "processes ") {
		p.t.Fatalf("a planted overlap: found %v", found)
	}
	p.t.Logf("planted: %v", found)
}

// childrenOf are the children of a process.
func childrenOf(t *testing.T, pid int) (all []int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lists {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, child)
		}
	}
	return all
}
