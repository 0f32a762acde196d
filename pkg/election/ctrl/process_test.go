package ctrl_test

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions/configmap"
)

// process is a member in a process of its own.
type process struct {
	name  string
	cmd   *exec.Cmd
	lines chan line
	ended chan error // how it exited
	// joined is closed once it takes part.
	joined chan struct{}
	// givenUp counts the terms that it gave up by itself. Read it once the process has ended.
	givenUp int
}

type line struct {
	what, election string
	at             record.Instant
}

// span is a stretch of work of one process.
type span struct {
	by         string
	begin, end record.Instant
}

// diary has the spans of each election.
type diary struct {
	mu    sync.Mutex
	spans map[string][]*span
	// news is closed when a span begins or ends.
	news chan struct{}
}

func newDiary() *diary { return &diary{spans: map[string][]*span{}, news: make(chan struct{})} }

func (d *diary) tellLocked() {
	close(d.news)
	d.news = make(chan struct{})
}

// at is who works on all kinds alone; empty while nobody does.
func (d *diary) at() (who string, news <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for e := range kinds {
		var at []string
		for _, s := range d.spans[e] {
			if s.end == math.MaxInt64 {
				at = append(at, s.by)
			}
		}
		if len(at) != 1 || who != "" && at[0] != who {
			return "", d.news
		}
		who = at[0]
	}
	return who, d.news
}

func (d *diary) note(by string, l line) {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.tellLocked()
	if l.what == "begin" {
		d.spans[l.election] = append(d.spans[l.election], &span{by, l.at, math.MaxInt64})
		return
	}
	d.closeLocked(by, l.election, l.at)
}

func (d *diary) closeLocked(by, election string, at record.Instant) {
	for _, s := range d.spans[election] {
		if s.by == by && s.end == math.MaxInt64 {
			s.end = at
		}
	}
}

// died ends all spans of a process that was killed.
func (d *diary) died(by string, at record.Instant) {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.tellLocked()
	for e := range d.spans {
		d.closeLocked(by, e, at)
	}
}

func launch(t *testing.T, cluster *devcluster.Cluster, d *diary, namespace, name, revision string) *process {
	t.Helper()
	return launchAt(t, cluster, d, namespace, name, revision, moved)
}

// launchAt starts a member at a stage of a move from a manager that elects by itself.
func launchAt(t *testing.T, cluster *devcluster.Cluster, d *diary, namespace, name, revision, stage string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{name: name, cmd: exec.Command(exe), lines: make(chan line, 256), ended: make(chan error, 1), joined: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), childName+"="+name, childRevision+"="+revision, childNamespace+"="+namespace, childKubeconfig+"="+cluster.Kubeconfig, childStage+"="+stage)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		for in := bufio.NewScanner(log); in.Scan(); {
			fmt.Fprintln(os.Stderr, in.Text())
			if strings.Contains(in.Text(), "runner returned during its term") {
				p.givenUp++
			}
		}
	}()
	go func() {
		for in := bufio.NewScanner(out); in.Scan(); {
			var l line
			if _, err := fmt.Sscan(in.Text(), &l.what, &l.election, &l.at); err != nil {
				continue
			}
			if l.what == "joined" {
				close(p.joined)
				continue
			}
			d.note(name, l)
			p.lines <- l
		}
		<-logged
		err := p.cmd.Wait()
		d.died(name, clock.Boottime().Now()) // what has not said its end has ended by now
		p.ended <- err
	}()
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
		}
	})
	return p
}

// awaitAll waits until a process has said this of all its controllers.
func (p *process) awaitAll(t *testing.T, what string) {
	t.Helper()
	ctx := soon(t)
	for seen := map[string]bool{}; len(seen) < len(kinds); {
		if l := await(t, ctx, p.lines, what+" of "+p.name); l.what == what {
			seen[l.election] = true
		}
	}
}

func (p *process) lives(t *testing.T) {
	t.Helper()
	select {
	case err := <-p.ended:
		t.Fatalf("%s ended: %v", p.name, err)
	default:
	}
}

// TestProcesses runs three controllers in two processes. Leadership moves, a process is killed, the API goes away and comes
// back: no other process ends, and no controller ever works in two processes at a time.
func TestProcesses(t *testing.T) {
	cluster := devcluster.New(t)
	namespace := cluster.Namespace(t)
	newThings(t, cluster.Config, namespace)
	core, err := coreclient.NewForConfig(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	prefer := func(revision string) {
		t.Helper()
		if err := configmap.Set(t.Context(), core, preferred(namespace), revision); err != nil {
			t.Fatal(err)
		}
	}
	prefer("v1")
	d := newDiary()
	a := launch(t, cluster, d, namespace, "a", "v1")
	a.awaitAll(t, "begin")
	b := launch(t, cluster, d, namespace, "b", "v2")
	prefer("v2")
	a.awaitAll(t, "end")
	b.awaitAll(t, "begin")
	prefer("v1")
	b.awaitAll(t, "end")
	a.awaitAll(t, "begin")
	prefer("v2")
	a.awaitAll(t, "end")
	b.awaitAll(t, "begin")

	if err := b.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-b.ended
	a.awaitAll(t, "begin")
	b = launch(t, cluster, d, namespace, "b2", "v2")
	a.awaitAll(t, "end")
	b.awaitAll(t, "begin")

	cluster.Down(t)
	b.awaitAll(t, "end") // what cannot be renewed ends
	cluster.Up(t)
	prefer("v1")
	a.awaitAll(t, "begin")
	prefer("v2")
	a.awaitAll(t, "end")
	b.awaitAll(t, "begin")
	for _, p := range []*process{a, b} {
		p.lives(t)
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := await(t, soon(t), p.ended, "end of "+p.name); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
	}
	d.judge(t, 7)
}

// judge checks that no spans of an election overlap, and that it has as many as are wanted.
func (d *diary) judge(t *testing.T, atLeast int) {
	t.Helper()
	for _, o := range d.overlaps() {
		t.Error(o)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for e, spans := range d.spans {
		if len(spans) < atLeast {
			t.Errorf("%s: %d spans", e, len(spans))
		}
		t.Logf("%s: %d spans", e, len(spans))
	}
}

// overlaps are the spans that began before an earlier one of their election was over.
func (d *diary) overlaps() (found []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for e, spans := range d.spans {
		slices.SortFunc(spans, func(a, b *span) int { return cmp.Compare(a.begin, b.begin) })
		for i, s := range spans[min(1, len(spans)):] {
			if before := spans[i]; s.begin < before.end {
				found = append(found, fmt.Sprintf("%s: %s began at %d, and %s worked until %d", e, s.by, s.begin, before.by, before.end))
			}
		}
	}
	return found
}
