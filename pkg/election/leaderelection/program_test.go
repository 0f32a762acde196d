package leaderelection_test

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
)

func TestMain(m *testing.M) { devcluster.Main(m) }

const (
	theirs = "k8s.io/client-go/tools/leaderelection\""
	ours   = "github.com/primacy-dev/primacy/pkg/election/leaderelection\""
)

// example builds client-go's own example of its elector, from the module cache. One import of it may be changed, and
// the durations are those of the test.
func example(t *testing.T, name, imported string) (program string) {
	t.Helper()
	dir := t.TempDir()
	root := moduleDir(t, "github.com/primacy-dev/primacy")
	source, err1 := os.ReadFile(filepath.Join(moduleDir(t, "k8s.io/client-go"), "examples/leader-election/main.go"))
	mod, err2 := os.ReadFile(filepath.Join(root, "go.mod"))
	sum, err3 := os.ReadFile(filepath.Join(root, "go.sum"))
	if err := cmp.Or(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), theirs); n != 1 {
		t.Fatalf("the example imports the elector %d times", n)
	}
	changed := strings.Replace(string(source), theirs, imported, 1)
	for long, short := range durations() {
		if strings.Count(changed, long) != 1 {
			t.Fatalf("the example has no duration %q", long)
		}
		changed = strings.Replace(changed, long, short, 1)
	}
	const module = "module github.com/primacy-dev/primacy\n"
	mod = []byte(strings.Replace(string(mod), module, "module example\nrequire github.com/primacy-dev/primacy v0.0.0\nreplace github.com/primacy-dev/primacy => "+root+"\n", 1))
	for file, text := range map[string][]byte{"main.go": []byte(changed), "go.mod": mod, "go.sum": sum} {
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program = filepath.Join(dir, name)
	goCommand(t, dir, "build", "-o", program, ".")
	return program
}

// moduleDir is where the source of a module is that this module is built with.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	return goCommand(t, "", "list", "-m", "-f", "{{.Dir}}", module)
}

// goCommand runs the go command in a folder, and returns what it prints on standard output.
func goCommand(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod -trimpath")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// durations shortens the durations of the example, unless PRIMACY_LONG is set.
func durations() map[string]string {
	if os.Getenv("PRIMACY_LONG") != "" {
		return nil
	}
	return map[string]string{"60 * time.Second": "3 * time.Second", "15 * time.Second": "2 * time.Second", "  5 * time.Second": "  500 * time.Millisecond"}
}

// process is a running example. Its work begins when its own log says so, by its own clock, and ends with the process.
type process struct {
	id   string
	cmd  *exec.Cmd
	gone chan struct{}

	// What follows is its group's to lock.
	from, till time.Time
	sees       string // the last identity that it told of
}

// group are the processes of one election.
type group struct {
	t    *testing.T
	mu   sync.Mutex
	any  *sync.Cond
	all  []*process
	args []string
}

func newGroup(t *testing.T) *group {
	cluster := devcluster.Start(t)
	g := &group{t: t, args: []string{"-kubeconfig", cluster.Kubeconfig, "-lease-lock-name", "example", "-lease-lock-namespace", cluster.Namespace(t)}}
	g.any = sync.NewCond(&g.mu)
	return g
}

var logged = regexp.MustCompile(`^[IWE]\d{4} (\d\d:\d\d:\d\d\.\d+) .*\] "([^"]*)"(?: identity="([^"]*)")?`)

// start starts a process, and waits until it knows who leads, or leads.
func (g *group) start(program, id string) *process {
	g.t.Helper()
	p := &process{id: id, cmd: exec.Command(program, append(g.args, "-id", id)...), gone: make(chan struct{})}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		g.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.mu.Lock()
	g.all = append(g.all, p)
	g.mu.Unlock()
	go func() { // joined by the cleanup
		defer close(p.gone)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			g.heard(p, s.Text())
		}
		_ = p.cmd.Wait() // a killed process always ends with an error
		g.mu.Lock()
		defer g.mu.Unlock()
		if !p.from.IsZero() {
			p.till = time.Now()
		}
		g.any.Broadcast()
	}()
	g.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may be gone
		<-p.gone
	})
	g.until(id+" knows the leader", func() bool { return p.sees != "" || !p.from.IsZero() })
	return p
}

func (g *group) heard(p *process, line string) {
	m := logged.FindStringSubmatch(line)
	if m == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch m[2] {
	case "Controller loop...":
		at, err := time.ParseInLocation("2006-01-02 15:04:05.000000", time.Now().Format("2006-01-02 ")+m[1], time.Local)
		if err != nil {
			g.t.Error(err)
		}
		p.from = at
	case "New leader elected":
		p.sees = m[3]
	}
	g.any.Broadcast()
}

// until waits for a condition, which is asked with the group locked.
func (g *group) until(what string, holds func() bool) {
	g.t.Helper()
	late := false
	timer := time.AfterFunc(3*time.Minute, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		late = true
		g.any.Broadcast()
	})
	defer timer.Stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	for !holds() {
		if late {
			g.t.Fatalf("%s: not so after a long time", what)
		}
		g.any.Wait()
	}
}

func (g *group) leads(p *process) {
	g.t.Helper()
	g.until(p.id+" leads", func() bool { return !p.from.IsZero() })
}

// next ends the leader, and waits for the next one. It returns how long nobody worked.
func (g *group) next(what string, leader, next *process, with syscall.Signal) {
	g.t.Helper()
	g.leads(leader)
	began := time.Now()
	if err := leader.cmd.Process.Signal(with); err != nil {
		g.t.Fatal(err)
	}
	<-leader.gone
	g.leads(next)
	g.t.Logf("%s: %v to end, then nobody worked for %v", what, leader.till.Sub(began).Round(time.Millisecond), next.from.Sub(leader.till).Round(time.Millisecond))
}

// overlaps lists the times at which two were at work.
func overlaps(all []*process) (found []string) {
	worked := slices.DeleteFunc(slices.Clone(all), func(p *process) bool { return p.from.IsZero() })
	slices.SortFunc(worked, func(a, b *process) int { return a.from.Compare(b.from) })
	for i, p := range worked {
		for _, later := range worked[i+1:] {
			if p.till.IsZero() || later.from.Before(p.till) {
				found = append(found, fmt.Sprintf("%s and %s", p.id, later.id))
			}
		}
	}
	return found
}

func TestOverlapsAreFound(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	for _, tt := range []struct {
		all  []*process
		want int
	}{
		{[]*process{{from: at(1), till: at(5)}, {from: at(5)}, {}}, 0},
		{[]*process{{from: at(4), till: at(9)}, {from: at(1), till: at(5)}}, 1},
		{[]*process{{from: at(1)}, {from: at(5), till: at(6)}, {from: at(7)}}, 2},
	} {
		if got := overlaps(tt.all); len(got) != tt.want {
			t.Errorf("%v, want %d", got, tt.want)
		}
	}
}

// TestExampleWithOneImportChanged runs client-go's example, and the same with one import changed, in one election: each
// is stopped and killed, and the other takes over; the change is rolled out and back.
func TestExampleWithOneImportChanged(t *testing.T) {
	original, changed := example(t, "original", theirs), example(t, "changed", ours)
	for _, same := range []string{original, changed} {
		g := newGroup(t)
		of := filepath.Base(same)
		first := g.start(same, "a")
		second := g.start(same, "b")
		g.next(of+" only, stopped", first, second, syscall.SIGTERM)
		third := g.start(same, "c")
		g.next(of+" only, killed", second, third, syscall.SIGKILL)
		if found := overlaps(g.all); found != nil {
			t.Errorf("%s only: at work at once: %v", of, found)
		}
	}
	g := newGroup(t)
	o1 := g.start(original, "o1")
	d1 := g.start(changed, "Host.1_d1/é")
	g.next("original stopped, changed takes over", o1, d1, syscall.SIGTERM)
	if slack := d1.from.Sub(o1.till); slack < 100*time.Millisecond {
		t.Errorf("changed takes over %v after the original's end, which comes after its release: that may be too soon", slack)
	}
	d2 := g.start(changed, "d2")
	if d2.sees != d1.id {
		t.Errorf("d2 sees the leader %q, want %q", d2.sees, d1.id)
	}
	g.next("changed killed, changed takes over", d1, d2, syscall.SIGKILL)
	o2 := g.start(original, "o2")
	g.next("changed stopped, original takes over", d2, o2, syscall.SIGTERM)
	d3 := g.start(changed, "d3")
	if d3.sees != "o2" {
		t.Errorf("d3 sees the leader %q, want o2", d3.sees)
	}
	g.next("original killed, changed takes over", o2, d3, syscall.SIGKILL)
	o3 := g.start(original, "o3")
	g.next("changed killed, original takes over", d3, o3, syscall.SIGKILL)
	if found := overlaps(g.all); found != nil {
		t.Errorf("at work at once: %v", found)
	}
}
