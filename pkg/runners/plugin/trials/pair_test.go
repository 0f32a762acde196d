package trials

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/cmd/bench/span"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/runners/parent"
	"github.com/primacy-dev/primacy/pkg/runners/runnertest"
)

func TestMain(m *testing.M) { devcluster.Main(m) }

// patience is how long an event may take before it counts as missing. No measured time depends on it.
const patience = 40 * time.Second

// trials returns how many trials of each kind to make.
func trials() int {
	if os.Getenv("PRIMACY_LONG") != "" {
		return 20
	}
	return 1
}

// pair is two member processes and the reports of their work.
type pair struct {
	programs
	t                             *testing.T
	dir, config, spans, namespace string
	cluster                       *devcluster.Cluster
	stage                         *runnertest.Stage
	members                       [2]*exec.Cmd
	logs                          [2]*os.File
	// seen is the newest work of each election; others are helpers, by election.
	seen   map[string]worker
	others map[string][]worker
}

// worker is a process of the work.
type worker struct {
	role, election string
	token          uint64
	pid, parent    int
}

// programs are the programs under trial.
type programs struct{ program, worker, sha256 string }

// build builds the programs as a user would.
func build(t *testing.T) programs {
	t.Helper()
	dir := t.TempDir()
	b := programs{program: filepath.Join(dir, "primacy"), worker: filepath.Join(dir, "plugins", "worker")}
	for out, pkg := range map[string]string{b.program: "../cmd/primacy-plugins", b.worker: "./worker"} {
		build := exec.Command("go", "build", "-trimpath", "-o", out, pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as the Makefile builds
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", pkg, err, text)
		}
	}
	list, err := b.command("plugins", "list").CombinedOutput()
	if b.sha256 = regexp.MustCompile(`[0-9a-f]{64}`).FindString(string(list)); err != nil || b.sha256 == "" {
		t.Fatalf("list the plugins: %v\n%s", err, list)
	}
	return b
}

func (b programs) command(args ...string) *exec.Cmd {
	c := exec.Command(b.program, args...)
	c.Env = append(os.Environ(), "PRIMACY_PLUGIN_DIR="+filepath.Dir(b.worker))
	return c
}

// newPair makes a pair, and starts nothing.
func newPair(t *testing.T, b programs) *pair {
	t.Helper()
	p := &pair{
		programs: b, t: t, dir: t.TempDir(), cluster: devcluster.Start(t), stage: runnertest.NewStage(t),
		seen: map[string]worker{}, others: map[string][]worker{},
	}
	p.namespace = p.cluster.Namespace(t)
	p.config, p.spans = filepath.Join(p.dir, "primacy.yaml"), filepath.Join(p.dir, "spans")
	if err := os.Mkdir(p.spans, 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

// runner returns a worker's block of the configuration.
func (p *pair) runner(kind, act string) string {
	env := fmt.Sprintf("env: [{name: TRIAL_SPANS, value: %q}, {name: TRIAL_STAGE, value: %q}, {name: TRIAL_ACT, value: %q}, {name: TRIAL_GATE, value: %q}]",
		p.spans, p.stage.Pipe, act, filepath.Join(p.dir, "gate"))
	if kind == "exec" {
		return fmt.Sprintf("exec: {command: [%q], stopGrace: 500ms, %s}", p.worker, env)
	}
	return fmt.Sprintf("plugin: {name: worker, sha256: %q, stopGrace: 500ms, %s}", p.sha256, env)
}

// configure writes the configuration: elections by name, each with a runner.
func (p *pair) configure(head string, elections ...string) {
	p.t.Helper()
	text := "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: trial\nnamespace: " + p.namespace + "\nmember: {revision: stable}\n" +
		head + "timing: {profile: fast, preemptDelay: 0s, minHold: 0s}\nelections:\n"
	for _, e := range elections {
		text += "- bootstrap: immediate\n  " + strings.ReplaceAll(e, "\n", "\n  ") + "\n"
	}
	if err := os.WriteFile(p.config, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// start starts a member; it ends with the test.
func (p *pair) start(i int, args ...string) {
	p.t.Helper()
	var err error
	if p.logs[i], err = os.OpenFile(filepath.Join(p.dir, fmt.Sprintf("member%d.log", i)), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600); err != nil {
		p.t.Fatal(err)
	}
	c := p.command(append([]string{"run", "--config", p.config, "--kubeconfig", p.cluster.Kubeconfig, "--name", fmt.Sprintf("member%d", i)}, args...)...)
	c.Stdout, c.Stderr = p.logs[i], p.logs[i]
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.members[i] = c
	p.t.Cleanup(func() { p.kill(c) })
}

// pid is the process id of a member itself, below its parent.
func (p *pair) pid(i int) int { return parent.MemberOf(p.members[i].Process.Pid) }

// kill kills a member and its parent.
func (p *pair) kill(c *exec.Cmd) {
	if c.ProcessState == nil {
		_ = syscall.Kill(parent.MemberOf(c.Process.Pid), syscall.SIGKILL)
		_ = c.Process.Kill()
		_ = c.Wait()
	}
}

// stop asks a member to leave, and waits until it has.
func (p *pair) stop(i int) {
	p.t.Helper()
	p.signal(p.members[i].Process.Pid, syscall.SIGTERM)
	if code := p.ended(i); code != 0 {
		p.t.Errorf("member %d ended with status %d\n%s", i, code, p.tail(i))
	}
}

// ended waits until a member has ended, and returns its status. If the member does not end, it is
// made to print its goroutines.
func (p *pair) ended(i int) int {
	p.t.Helper()
	member, ended := p.members[i], make(chan struct{})
	go func() { // ends with the member
		_ = member.Wait() // the status shows how
		close(ended)
	}()
	select {
	case <-ended:
		return member.ProcessState.ExitCode()
	case <-time.After(patience):
	}
	p.signal(p.pid(i), syscall.SIGQUIT)
	select {
	case <-ended:
	case <-time.After(patience):
		_ = member.Process.Kill()
		<-ended
	}
	p.t.Fatalf("member %d did not end within %v\n%s", i, patience, p.log(i))
	return 0
}

func (p *pair) signal(pid int, s syscall.Signal) {
	p.t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		p.t.Errorf("signal %v to process %d: %v", s, pid, err)
	}
}

// await waits until new work of these elections has begun, in any order, with its helpers.
func (p *pair) await(helpers int, elections ...string) {
	p.t.Helper()
	missing := slices.Clone(elections)
	counts := map[string]int{}
	for len(missing) > 0 || len(counts) > 0 {
		w := p.next()
		if w.role != "work" {
			p.others[w.election] = append(p.others[w.election], w)
			counts[w.election]++
		} else {
			p.seen[w.election], counts[w.election] = w, counts[w.election]+1
			if at := slices.Index(missing, w.election); at >= 0 {
				missing = slices.Delete(missing, at, at+1)
			}
		}
		if counts[w.election] == 1+helpers {
			delete(counts, w.election)
		}
	}
}

// awaitAll waits until n more processes have begun.
func (p *pair) awaitAll(n int) {
	p.t.Helper()
	for range n {
		if w := p.next(); w.role == "work" {
			p.seen[w.election] = w
		}
	}
}

// next waits for the next process to report that it has begun.
func (p *pair) next() worker {
	p.t.Helper()
	fields := strings.Fields(p.stage.Next(patience))
	if len(fields) != 5 {
		p.t.Fatalf("the stage hears %q; the members' logs:\n%s\n%s", fields, p.tail(0), p.tail(1))
	}
	w := worker{role: fields[0], election: fields[1]}
	var errs [3]error
	w.token, errs[0] = strconv.ParseUint(fields[2], 10, 64)
	w.pid, errs[1] = strconv.Atoi(fields[3])
	w.parent, errs[2] = strconv.Atoi(fields[4])
	for _, err := range errs {
		if err != nil {
			p.t.Fatal(err)
		}
	}
	return w
}

// identities returns all identities under which a member has joined.
func (p *pair) identities(i int) map[string]bool {
	p.t.Helper()
	text, err := os.ReadFile(p.logs[i].Name())
	if err != nil {
		p.t.Fatal(err)
	}
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`"msg":"joining","identity":"([^"]+)"`).FindAllSubmatch(text, -1) {
		found[string(m[1])] = true
	}
	return found
}

// tail returns the end of a member's log.
func (p *pair) tail(i int) string {
	text := p.log(i)
	return text[max(0, len(text)-3000):]
}

func (p *pair) log(i int) string {
	text, err := os.ReadFile(filepath.Join(p.dir, fmt.Sprintf("member%d.log", i)))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// lives says whether a process lives; a zombie does not.
func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// diesWithin waits until a process is dead, and says whether that was in time.
func diesWithin(pid int, patience time.Duration) bool {
	late := time.After(patience)
	for lives(pid) {
		select {
		case <-late:
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
	return true
}

// work returns all terms of an election, in the order of their tokens.
func (p *pair) work(election string) []span.Span {
	p.t.Helper()
	all, err := span.Read(p.spans)
	if err != nil {
		p.t.Fatal(err)
	}
	var terms []span.Span
	for _, s := range all {
		if s.Election != election {
			continue
		}
		at := slices.IndexFunc(terms, func(t span.Span) bool { return t.Token == s.Token })
		if at < 0 {
			terms = append(terms, s)
			continue
		}
		terms[at].Begin, terms[at].Till = min(terms[at].Begin, s.Begin), max(terms[at].Till, s.Till)
	}
	slices.SortFunc(terms, func(a, b span.Span) int { return int(a.Begin - b.Begin) })
	return terms
}

// spread returns the smallest, median and greatest duration.
func spread(d []time.Duration) string {
	slices.Sort(d)
	const ms = time.Millisecond
	return fmt.Sprintf("n %d, min %v, median %v, p90 %v, max %v", len(d), d[0].Round(ms), d[len(d)/2].Round(ms), d[len(d)*9/10].Round(ms), d[len(d)-1].Round(ms))
}
