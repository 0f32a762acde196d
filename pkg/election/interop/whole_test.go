//go:build linux

package interop_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/interop/elector"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/runners/parent"
)

// earlier is the commit of an earlier state of this repository; members of it run together with today's.
const earlier = "8ba61fa6bbdad56a65224c1201fb75fc7951d96d"

// version is a state of this repository, with its program.
type version struct{ name, program string }

// buildVersions builds the program of the earlier commit and that of today. Call it before
// t.Parallel, so that the build does not slow down other tests' timings.
func buildVersions(t *testing.T) (before, today version) {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.Command("git", "-C", root, "rev-parse", "--quiet", "--verify", earlier+"^{commit}").Output(); err != nil {
		shallow, err := exec.Command("git", "-C", root, "rev-parse", "--is-shallow-repository").Output()
		if err != nil || strings.TrimSpace(string(shallow)) == "true" {
			t.Skipf("not tested: members of commit %.7s, since this is no clone with the whole history (git fetch --unshallow)", earlier)
		}
		t.Fatalf("commit %s is not in the history of this repository", earlier)
	}
	// Use the same folder each time, so that the go command's build cache applies.
	source := filepath.Join(root, ".cache", "interop", earlier)
	if _, err := os.Stat(source); errors.Is(err, os.ErrNotExist) {
		extract(t, root, source)
	}
	const program = "pkg/election/interop/whole"
	main, err := os.ReadFile(filepath.Join(root, program, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.MkdirAll(filepath.Join(source, program), 0o700), os.WriteFile(filepath.Join(source, program, "main.go"), main, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	build := func(name, at string) version {
		v := version{name, filepath.Join(dir, name)}
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", v.program, "./"+program)
		cmd.Dir = at
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as the Makefile builds
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("building the program %s in %s: %v\n%s", name, at, err, out)
		}
		return v
	}
	return build("old", source), build("new", root)
}

// extract writes the files of the earlier commit to a folder that does not exist.
func extract(t *testing.T, root, folder string) {
	t.Helper()
	parent := filepath.Dir(folder)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	temporary, err := os.MkdirTemp(parent, "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temporary)
	archive, err := exec.Command("git", "-C", root, "archive", earlier).Output()
	if err != nil {
		t.Fatalf("git archive %s: %v", earlier, err)
	}
	tar := exec.Command("tar", "-x", "-C", temporary)
	tar.Stdin = bytes.NewReader(archive)
	if out, err := tar.CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	if err := os.Rename(temporary, folder); err != nil && !errors.Is(err, os.ErrExist) { // another test may have been faster
		t.Fatal(err)
	}
}

// kind is how some elections of these cases are configured, and how many of them there are.
type kind struct {
	name, text string
	n          int
	exec       bool
}

// all is the number of elections of the most numerous kind.
const all = 8

var kinds = []kind{
	{name: "session", n: 8},
	{name: "record", n: 6, text: "lock: {renewal: record}"},
	{name: "configmap", n: 6, text: "lock: {kind: ConfigMap}"},
	{name: "range", n: 5, text: "range: true"},
	{name: "unheld", n: 6, text: "timing: {minHold: 0s}"},
	{name: "moving", n: 2, text: "lock: {migrateFrom: {kind: ConfigMap}}"},
	{name: "shared", n: 3, text: "lock: {sharedWith: client-go}"},
	{name: "exec", n: 4, exec: true},
}

// group is a group of members that are whole processes, of one version or another.
type group struct {
	*arena
	config, listener string
	conns            sync.WaitGroup
	members          []*whole
	logs             string
	warned           map[string]int
}

// newGroup makes a group with elections of all kinds: of each kind as many as kinds says, but no more than
// most. Exec runners run the program of worker.
func newGroup(t *testing.T, worker version, most int) *group {
	g := &group{arena: newArena(t, 0), logs: t.ArtifactDir(), warned: map[string]int{}}
	dir, err := os.MkdirTemp("", "primacy") // the name of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	g.config, g.listener = filepath.Join(dir, "primacy.yaml"), filepath.Join(dir, "socket")
	profile := "fast"
	if long {
		profile = record.DefaultProfile
	}
	var y strings.Builder
	fmt.Fprintf(&y, "apiVersion: primacy.dev/v1alpha1\nkind: PrimacyConfiguration\ngroup: edge\nnamespace: %s\n", g.space)
	fmt.Fprintf(&y, "defaultRevision: {configMap: {name: primacy-revisions, key: default}}\ntiming: {profile: %s}\nelections:\n", profile)
	for _, k := range kinds {
		for i := range min(k.n, most) {
			name := fmt.Sprintf("%s-%d", k.name, i)
			g.locks = append(g.locks, name)
			fmt.Fprintf(&y, "- name: %s\n  bootstrap: immediate\n", name)
			if k.text != "" {
				fmt.Fprintf(&y, "  %s\n", k.text)
			}
			if k.name == "range" && !long { // a leaving member keeps the lock until its range is over
				fmt.Fprintf(&y, "  timing: {leaseDuration: 3s, renewInterval: 600ms, stopGrace: 1s}\n")
			}
			runner := "func: {kind: work}"
			if k.exec {
				runner = fmt.Sprintf("exec: {command: [%q, work], env: [{name: WORK_LISTENER, value: %q}]}", worker.program, g.listener)
			}
			fmt.Fprintf(&y, "  runners: [{name: work, %s}]\n", runner)
		}
	}
	if err := os.WriteFile(g.config, []byte(y.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", g.listener)
	if err != nil {
		t.Fatal(err)
	}
	g.conns.Go(func() { g.listen(l) })
	t.Cleanup(func() {
		for _, m := range g.members {
			m.end(syscall.SIGTERM)
		}
		if err := errors.Join(l.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
		g.conns.Wait()
		for _, m := range g.members {
			m.read()
		}
		for text, n := range g.warned {
			t.Logf("warned %d times: %s", n, text)
		}
	})
	return g
}

// listen hears what all work of the group says.
func (g *group) listen(l net.Listener) {
	for n := 0; ; n++ {
		conn, err := l.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				g.t.Error(err)
			}
			return
		}
		g.conns.Go(func() {
			defer conn.Close()
			who := ""
			for lines := bufio.NewScanner(conn); lines.Scan(); {
				var e elector.Event
				if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
					g.t.Errorf("work said %q: %v", lines.Text(), err)
					continue
				}
				who = fmt.Sprintf("%d %s", n, e.Holder) // one member may be at work twice
				g.heard(who, e)
			}
			g.died(who, now())
		})
	}
}

// host is the host of the member whose work the span is.
func (s *span) host() string {
	_, identity, _ := strings.Cut(s.who, " ")
	return record.HostOf(identity)
}

// whole is a member that is a process of its own.
type whole struct {
	g              *group
	host, revision string
	version        version
	process        *exec.Cmd
	log            string
	// known are the identities that the member's host had before the member started.
	known map[string]bool
	ended chan struct{}
	// killed: the test killed the member with SIGKILL.
	killed bool
	status error
}

func (m *whole) String() string { return fmt.Sprintf("%s (%s)", m.host, m.version.name) }

// join starts a member and waits until its session is seen.
func (g *group) join(v version, host, revision string) *whole {
	g.t.Helper()
	m := g.start(v, host, revision)
	g.until(m.String()+" lives", func() string {
		if len(m.sessions()) == 0 {
			return "its session"
		}
		return ""
	})
	return m
}

// start starts a member; more are further arguments.
func (g *group) start(v version, host, revision string, more ...string) *whole {
	g.t.Helper()
	m := &whole{g: g, host: host, revision: revision, version: v, known: map[string]bool{}, ended: make(chan struct{})}
	m.log = filepath.Join(g.logs, fmt.Sprintf("%02d-%s-%s.log", len(g.members), host, v.name))
	log, err := os.Create(m.log)
	if err != nil {
		g.t.Fatal(err)
	}
	g.mu.Lock()
	for _, s := range m.sessions() {
		m.known[holder(s.lease)] = true
	}
	g.mu.Unlock()
	args := append([]string{"run", "--config", g.config, "--kubeconfig", g.cluster.Kubeconfig, "--name", host, "--revision", revision}, more...)
	m.process = exec.Command(v.program, args...)
	m.process.Env = append(os.Environ(), "WORK_LISTENER="+g.listener)
	m.process.Stdout, m.process.Stderr = log, log
	m.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := m.process.Start(); err != nil {
		g.t.Fatal(err)
	}
	go func() { // joined by end
		m.status = errors.Join(m.process.Wait(), log.Close())
		close(m.ended)
	}()
	g.members = append(g.members, m)
	return m
}

// sessions are the sights of the member's own sessions. The caller has locked the group.
func (m *whole) sessions() (found []sight) {
	for name, seen := range m.g.seen {
		if !strings.HasPrefix(name, "primacy-edge-") {
			continue
		}
		for _, s := range seen {
			if h := holder(s.lease); record.OurForm(h) && record.HostOf(h) == m.host && !m.known[h] {
				found = append(found, s)
			}
		}
	}
	return found
}

// end ends the member, and returns when nothing of its work is left.
func (m *whole) end(s syscall.Signal) {
	m.g.t.Helper()
	select {
	case <-m.ended:
		return
	default:
	}
	m.killed = s == syscall.SIGKILL
	pid := m.process.Process.Pid
	if m.killed { // the member itself: its parent, if it has one, proves the death
		pid = parent.MemberOf(pid)
	}
	if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		m.g.t.Error(err)
	}
	<-m.ended
	m.g.until("the work of "+m.String()+" has ended", func() string {
		for l, spans := range m.g.spans {
			if slices.ContainsFunc(spans, func(s *span) bool { return s.till == 0 && s.host() == m.host }) {
				return l
			}
		}
		return ""
	})
}

// read looks for alarms in what the member said, and at how it ended.
func (m *whole) read() {
	m.g.t.Helper()
	var exit *exec.ExitError
	if m.status != nil && !(m.killed && errors.As(m.status, &exit)) {
		m.g.t.Errorf("%v: %v", m, m.status)
	}
	log, err := os.Open(m.log)
	if err != nil {
		m.g.t.Fatal(err)
	}
	defer log.Close()
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct{ Level, Logger, Msg, Detail, Error string }
		switch err := json.Unmarshal(lines.Bytes(), &line); {
		case err == nil && line.Level == "info":
		case err != nil || line.Level != "warn" && line.Logger != "client-go": // client-go logs errors if a request takes long
			m.g.t.Errorf("%v says: %s", m, lines.Text())
		default:
			m.g.warned[fmt.Sprintf("%v says %s %s %s", m, line.Msg, line.Detail, line.Error)]++
		}
	}
	if err := lines.Err(); err != nil {
		m.g.t.Errorf("%v: %v", m, err)
	}
}

// at says whether the host alone is at work. The caller has locked the group.
func (g *group) at(lock, host string) bool {
	n := 0
	for _, s := range g.spans[lock] {
		switch {
		case s.till != 0:
		case s.host() != host:
			return false
		default:
			n++
		}
	}
	return n == 1
}

// load counts the elections in which the member is at work.
func (g *group) load(m *whole) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, l := range g.locks {
		if g.at(l, m.host) {
			n++
		}
	}
	return n
}

// led waits until somebody is at work in every election.
func (g *group) led() {
	g.t.Helper()
	g.each("somebody is at work", func(l string) bool {
		return slices.ContainsFunc(g.spans[l], func(s *span) bool { return s.till == 0 })
	})
}

// live waits until each member's session was renewed at least the given time from now.
func (g *group) live(more time.Duration, members ...*whole) {
	g.t.Helper()
	since := time.Now()
	g.until("all live on", func() string {
		for _, m := range members {
			if !slices.ContainsFunc(m.sessions(), func(s sight) bool { return s.renewed().Sub(since) >= more }) {
				return "the session of " + m.String()
			}
		}
		return ""
	})
}

// gaps logs, for each kind of election, the longest time without work since an instant.
func (g *group) gaps(what string, since record.Instant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	longest, till := map[string]time.Duration{}, now()
	for _, l := range g.locks {
		kind, _, _ := strings.Cut(l, "-")
		longest[kind] = max(longest[kind], gap(g.spans[l], since, till))
	}
	var b strings.Builder
	for _, k := range kinds {
		fmt.Fprintf(&b, "  %s %.2fs", k.name, longest[k.name].Seconds())
	}
	g.t.Logf("%s: longest without work:%s", what, b.String())
}

// gap is the longest stretch between two instants in which no span goes on.
func gap(spans []*span, from, till record.Instant) (longest time.Duration) {
	sorted := slices.SortedFunc(slices.Values(spans), func(a, b *span) int { return int(a.from - b.from) })
	at := from
	for _, s := range sorted {
		if s.from > at {
			longest = max(longest, s.from.Sub(at))
		}
		if s.till == 0 {
			return longest
		}
		at = max(at, s.till)
	}
	return max(longest, till.Sub(at))
}
