package dev

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

func TestStableShare(t *testing.T) {
	want := []int{1, 1, 2, 3, 4, 4, 5, 6, 6, 7}
	for i, w := range want {
		if got := stableShare(i + 1); got != w {
			t.Errorf("of %d members %d are stable, want %d", i+1, got, w)
		}
	}
}

// killedEnd is the error of a process that a signal killed. Do not use SIGHUP, SIGINT or SIGQUIT: under
// nohup(1) or in the background of a shell these signals are ignored, and children inherit this.
func killedEnd(t *testing.T, s syscall.Signal) error {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "read line")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	c, err := start(cmd, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !c.living() {
		t.Error("it ended by itself")
	}
	c.signal(s)
	<-c.ended
	if c.living() {
		t.Error("it lives, though it has ended")
	}
	return c.end
}

func TestHowItEnded(t *testing.T) {
	byKill, byAlarm, failed := killedEnd(t, syscall.SIGKILL), killedEnd(t, syscall.SIGALRM), exec.Command("/bin/sh", "-c", "exit 3").Run()
	for _, tt := range []struct {
		end  error
		want string
	}{{nil, "exit status 0"}, {byKill, "killed by SIGKILL"}, {byAlarm, "killed by alarm clock"}, {failed, "exit status 3"}, {errors.New("strange"), "strange"}} {
		if got := how(tt.end); got != tt.want {
			t.Errorf("how(%v) = %q, want %q", tt.end, got, tt.want)
		}
	}
	now := start0
	for _, tt := range []struct {
		name   string
		member member
		end    error
		want   phase
		away   time.Duration // zero: the member stays away
	}{
		{"asked to stop", member{phase: stopping}, nil, stopped, 0},
		{"failed while stopping", member{phase: stopping}, failed, stopped, 0},
		{"stopped by somebody else", member{phase: running}, nil, stopped, 0},
		{"killed by us", member{phase: killed}, byKill, killed, killPause},
		{"killed by somebody else", member{phase: running}, byKill, killed, killPause},
		{"failed", member{phase: running, startedAt: now}, failed, crashed, crashPause},
		{"failed again", member{phase: running, startedAt: now, crashes: 2}, failed, crashed, 4 * crashPause},
		{"failed for ever", member{phase: running, startedAt: now, crashes: 80}, failed, crashed, mostPause},
		{"failed after it had settled", member{phase: running, startedAt: now.Add(-settled), crashes: 4}, failed, crashed, crashPause},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := tt.member
			c := &crew{members: []*member{&m}}
			c.ended(&m, tt.end, now)
			if m.phase != tt.want {
				t.Errorf("it is %v, want %v", m.phase, tt.want)
			}
			if early := c.due(now.Add(tt.away - 1)); early != nil {
				t.Error("it came back early")
			}
			if due := c.due(now.Add(tt.away)); (len(due) == 1) != (tt.away != 0) {
				t.Errorf("due after %v: %d", tt.away, len(due))
			}
		})
	}
}

// testCrew is a crew whose members run a script. Their logs are pipes.
func testCrew(t *testing.T, script string) (*crew, map[string]*bufio.Reader) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "member")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	c := &crew{program: program, grace: time.Minute, exits: make(chan exit, 2)}
	logs := map[string]*bufio.Reader{}
	for _, name := range []string{"stable-0", "canary-0"} {
		m := &member{name: name, revision: name}
		m.log.path = filepath.Join(dir, name+".log")
		if err := unix.Mkfifo(m.log.path, 0o600); err != nil {
			t.Fatal(err)
		}
		log, err := os.OpenFile(m.log.path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = log.Close() })
		logs[name] = bufio.NewReader(log)
		c.members = append(c.members, m)
	}
	c.plan(start0, "canary-0")
	for _, m := range c.due(start0.Add(canaryPause)) {
		if err := c.start(m, start0); err != nil {
			t.Fatal(err)
		}
	}
	return c, logs
}

// logs waits until a member has logged a line.
func logs(t *testing.T, from map[string]*bufio.Reader, m *member, want string) {
	t.Helper()
	line, err := from[m.name].ReadString('\n')
	if err != nil || line != want+"\n" {
		t.Errorf("%s logged %q, want %q: %v", m.name, line, want, err)
	}
}

const orderly = `sleep 60 & trap 'kill $!; echo stopped; exit 0' TERM; echo "$@"; wait`

func TestCrewEndsOrderly(t *testing.T) {
	c, log := testCrew(t, orderly)
	for _, m := range c.members {
		logs(t, log, m, "--name "+m.name+" --revision "+m.revision)
	}
	if early := c.due(start0); early != nil {
		t.Error("running members are due")
	}
	if slain, err := c.close(nil, nobodySlow(t)); slain != nil || err != nil {
		t.Errorf("killed %q: %v", slain, err)
	}
	for range c.members {
		x := <-c.exits
		c.ended(x.member, x.child.end, start0)
		if x.member.phase != stopped {
			t.Errorf("%s is %v", x.member.name, x.member.phase)
		}
		logs(t, log, x.member, "stopped")
	}
	if slain, err := c.close(nil, nobodySlow(t)); slain != nil || err != nil {
		t.Errorf("a second time: killed %q: %v", slain, err)
	}
}

func nobodySlow(t *testing.T) func([]string) {
	return func(names []string) { t.Logf("slow: %q", names) }
}

const deaf = `trap '' TERM; echo deaf; exec sleep 60`

func TestCrewIsKilled(t *testing.T) {
	for name, tt := range map[string]struct {
		grace time.Duration
		hurry bool
	}{"in a hurry": {time.Minute, true}, "in the end": {time.Nanosecond, false}} {
		t.Run(name, func(t *testing.T) {
			c, log := testCrew(t, deaf)
			for _, m := range c.members {
				logs(t, log, m, "deaf")
			}
			c.grace = tt.grace
			hurry := make(chan struct{})
			if tt.hurry {
				close(hurry)
			}
			slain, err := c.close(hurry, nobodySlow(t))
			if !slices.Equal(slain, []string{"stable-0", "canary-0"}) || (err == nil) != tt.hurry {
				t.Errorf("killed %q: %v", slain, err)
			}
		})
	}
}

func TestCrewEnvironment(t *testing.T) {
	for _, name := range []string{"PRIMACY_CONFIG", "PRIMACY_NAMESPACE", "POD_NAME", "KUBECONFIG"} {
		t.Setenv(name, "another")
	}
	t.Setenv("PATH", "/usr/bin")
	program := filepath.Join(t.TempDir(), "primacy-1.2")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	dir := &folder{path: t.TempDir()}
	env, err := memberEnvironment(program, dir)
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(env, "\n"); strings.Contains(all, "another") || !strings.Contains(all, "PATH="+dir.file("bin")+":/usr/bin") {
		t.Errorf("environment:\n%s", all)
	}
	if err := exec.CommandContext(context.Background(), dir.file("bin/primacy")).Run(); err != nil {
		t.Errorf("the program is not in PATH: %v", err)
	}
}

// TestStartFails checks that start returns an error if the process cannot start, and does not call gone.
func TestStartFails(t *testing.T) {
	if _, err := start(exec.Command("/does/not/exist"), func(*child) { t.Error("it ended") }); err == nil {
		t.Error("no error")
	}
}

func TestGrace(t *testing.T) {
	fast, err := record.Profile("fast")
	if err != nil {
		t.Fatal(err)
	}
	if got := grace(fast); got < 8*time.Second || got > 10*time.Second {
		t.Errorf("grace %v", got)
	}
}

// TestStartedAgainAtOnce checks that a person who starts a killed member at once gets one process, not two.
func TestStartedAgainAtOnce(t *testing.T) {
	c, log := testCrew(t, orderly)
	r := &run{console: &console{out: io.Discard}, crew: c, board: newBoard("edge", nil)}
	m := c.members[0]
	logs(t, log, m, "--name "+m.name+" --revision "+m.revision)
	first := m.child
	r.obey(t.Context(), command{killMember, m.name})
	for m.child == first {
		r.obey(t.Context(), command{stopMember, m.name}) // starts nothing while the first process is still ending
		if m.child != first {
			t.Fatal("two processes of one member, as far as the crew knows")
		}
		select {
		case x := <-c.exits:
			r.memberEnded(x)
			r.obey(t.Context(), command{stopMember, m.name})
		default:
		}
	}
	logs(t, log, m, "--name "+m.name+" --revision "+m.revision)
	if m.phase != running || len(c.due(start0.Add(time.Hour))) != 0 {
		t.Errorf("the living member is %v", m.phase)
	}
	if _, err := c.close(nil, nobodySlow(t)); err != nil {
		t.Error(err)
	}
}
