package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
)

// asProgram names the variable that makes the test binary the program itself.
const asProgram = "RANGE_EXPORTER"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	devcluster.Main(m)
}

// sample is what a member sent.
type sample struct {
	member string
	at     time.Time
	token  uint64
}

// receiver is where all samples arrive.
type receiver struct {
	all     chan sample
	readers sync.WaitGroup
	got     []sample
}

func (r *receiver) start(t *testing.T, cluster *devcluster.Cluster, namespace, name string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "--kubeconfig", cluster.Kubeconfig, "--namespace", namespace, "--name", name, "--profile", "fast")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.readers.Go(func() {
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			var micros int64
			s := sample{member: name}
			if _, err := fmt.Sscanf(lines.Text(), "sample %d term %d", &micros, &s.token); err != nil {
				t.Errorf("%s says %q", name, lines.Text())
			}
			s.at = time.UnixMicro(micros)
			r.all <- s
		}
	})
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// await receives samples until a member other than the given ones has sent ten, and returns that
// member.
func (r *receiver) await(without ...string) string {
	sent := map[string]int{}
	for s := range r.all {
		r.got = append(r.got, s)
		if sent[s.member]++; sent[s.member] == 10 && !slices.Contains(without, s.member) {
			return s.member
		}
	}
	return ""
}

// TestOneKilledOneFrozen runs three members. It kills the one that sends, and freezes the next one
// until the third sends. Samples of different terms must not overlap in time, and the frozen member
// must not send a sample that it took meanwhile.
func TestOneKilledOneFrozen(t *testing.T) {
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	r := &receiver{all: make(chan sample, 1<<16)}
	members := map[string]*exec.Cmd{}
	for _, name := range []string{"m1", "m2", "m3"} {
		members[name] = r.start(t, cluster, namespace, name)
	}
	first := r.await()
	if err := members[first].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	second := r.await(first)
	if err := members[second].Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	third := r.await(first, second)
	if err := members[second].Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := members[third].Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if last := r.await(first, third); last != second {
		t.Errorf("%s sends last, want %s, which is the only one left", last, second)
	}
	for _, m := range members {
		_ = m.Process.Signal(syscall.SIGTERM) // some have ended already
	}
	r.readers.Wait()
	close(r.all)
	r.await("m1", "m2", "m3") // reads all remaining samples
	r.judge(t)
}

// judge checks all samples in the order of their times.
func (r *receiver) judge(t *testing.T) {
	slices.SortFunc(r.got, func(a, b sample) int { return a.at.Compare(b.at) })
	gap, terms := time.Duration(0), 1
	for i := 1; i < len(r.got); i++ {
		a, b := r.got[i-1], r.got[i]
		if b.token < a.token || b.token == a.token && a.member != b.member {
			t.Errorf("%s of term %d sent %v, and %s of term %d %v", a.member, a.token, a.at, b.member, b.token, b.at)
		}
		if b.token != a.token {
			terms++
			gap = max(gap, b.at.Sub(a.at))
		}
	}
	if terms < 3 {
		t.Errorf("%d terms, want 3 or more", terms)
	}
	t.Logf("%d samples of %d terms; nothing was sent for %v at most", len(r.got), terms, gap.Round(time.Millisecond))
}
