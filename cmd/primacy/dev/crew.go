package dev

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners/parent"
)

// phase is what a member's process is doing.
type phase int

const (
	// awaited: the process was not started yet.
	awaited phase = iota + 1
	running
	// killed: somebody killed it on purpose, with SIGKILL; it starts again after killPause.
	killed
	// crashed: it ended by itself, with an error; it starts again, after a longer pause each time.
	crashed
	// stopping: we asked it to end; it does not start again.
	stopping
	// stopped: it ended because somebody asked it to.
	stopped
)

func (p phase) String() string {
	switch p {
	case awaited:
		return "not started yet"
	case running:
		return "running"
	case killed:
		return "killed"
	case crashed:
		return "crashed"
	case stopping:
		return "stopping"
	case stopped:
		return "stopped"
	}
	return fmt.Sprintf("phase(%d)", int(p))
}

const (
	// canaryPause is how much later canaries start than the other members. Otherwise canaries
	// might win elections, and the run would begin with moves of these elections.
	canaryPause = 500 * time.Millisecond
	// killPause is how long a killed member stays away.
	killPause = 3 * time.Second
	// crashPause is how long a crashed member stays away at first. The pause doubles up to mostPause
	// until the member has lived for settled.
	crashPause = time.Second
	mostPause  = 30 * time.Second
	settled    = 10 * time.Second
	// longWait is how long an orderly end may take before we tell the person.
	longWait = 2 * time.Second
)

// member is one member of the crew. Its name stays; its processes come and go.
type member struct {
	name, revision string
	phase          phase
	child          *child
	log            logFile
	startedAt      time.Time
	// returnAt is when it starts next; zero if no start is planned.
	returnAt time.Time
	// crashes counts crashes in a row, crashed counts all crashes.
	crashes, crashed int
}

// crew are the members of a run. It belongs to one goroutine.
type crew struct {
	program string
	args    []string // of every member
	env     []string
	grace   time.Duration // for an orderly end
	members []*member
	// exits delivers processes that have ended.
	exits chan exit
}

type exit struct {
	member *member
	child  *child
}

// stableShare is how many of n members are of the stable revision: two thirds, rounded up,
// but at least one is a canary unless n is 1.
func stableShare(n int) int {
	if n == 1 {
		return 1
	}
	return min((2*n+2)/3, n-1)
}

// newCrew names the members and starts nothing.
func newCrew(o Options, dir *folder, p plan, d *document, c *cluster) (*crew, error) {
	env, err := memberEnvironment(o.Program, dir)
	if err != nil {
		return nil, err
	}
	cr := &crew{
		program: o.Program,
		args:    []string{"run", "--config", d.path, "--kubeconfig", c.kubeconfig, "--namespace", c.namespace, "--log-format", "console"},
		env:     env,
		grace:   d.Timing.LeaseDuration + d.Timing.StopGrace + 5*time.Second,
		exits:   make(chan exit, o.Members),
	}
	stable := stableShare(o.Members)
	for i := range o.Members {
		m := &member{name: fmt.Sprintf("stable-%d", i), revision: p.stable}
		if i >= stable {
			m.name, m.revision = fmt.Sprintf("canary-%d", i-stable), p.canary
		}
		m.log.path = dir.file(m.name + ".log")
		cr.members = append(cr.members, m)
	}
	return cr, nil
}

// pluginFolder is the variable with the folder of plugins. Members keep it: they run on the same machine.
const pluginFolder = "PRIMACY_PLUGIN_DIR"

// memberEnvironment is our environment, without variables that would configure members, and with
// the program itself in PATH as primacy, the name that configurations use.
func memberEnvironment(program string, dir *folder) ([]string, error) {
	bin := dir.file("bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return nil, fmt.Errorf("temporary folder: %w", err)
	}
	if err := os.Symlink(program, filepath.Join(bin, "primacy")); err != nil {
		return nil, fmt.Errorf("temporary folder: %w", err)
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		ours := strings.HasPrefix(name, "PRIMACY_") && name != pluginFolder
		return ours || name == "PATH" || name == "POD_NAME" || name == "KUBECONFIG"
	})
	return append(env, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH")), nil
}

// plan sets when the members start for the first time.
func (c *crew) plan(now time.Time, canary string) {
	for _, m := range c.members {
		m.phase, m.returnAt = awaited, now
		if m.revision == canary {
			m.returnAt = now.Add(canaryPause)
		}
	}
}

// start starts a process for the member. The kernel sends it SIGTERM when we end.
func (c *crew) start(m *member, now time.Time) error {
	log, err := os.OpenFile(m.log.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("log of %s: %w", m.name, err)
	}
	defer log.Close()
	cmd := &exec.Cmd{
		Path: c.program, Args: slices.Concat([]string{"primacy"}, c.args, []string{"--name", m.name, "--revision", m.revision}),
		Env: c.env, Stdout: log, Stderr: log, SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM},
	}
	m.child, err = start(cmd, func(ended *child) { c.exits <- exit{m, ended} })
	if err != nil {
		return fmt.Errorf("member %s: %w", m.name, err)
	}
	m.phase, m.startedAt, m.returnAt = running, now, time.Time{}
	return nil
}

// kill kills a running member without warning, like a crash. Its parent process proves the death to the others.
func (c *crew) kill(m *member) {
	m.phase = killed
	_ = syscall.Kill(m.pid(), syscall.SIGKILL) // fails only if it has ended
}

// stop asks a running member to end; a member that is away does not come back.
func (c *crew) stop(m *member) {
	if m.phase != running {
		m.phase, m.returnAt = stopped, time.Time{}
		return
	}
	m.phase = stopping
	m.child.signal(syscall.SIGTERM)
}

// ended records how a process of a member has ended. A person or another program may have
// ended it: we suppose that a process without an error was asked to end, and that a person sent a SIGKILL.
func (c *crew) ended(m *member, end error, now time.Time) {
	switch {
	case m.phase == stopping, m.phase == stopped, m.phase == running && end == nil:
		m.phase = stopped
	case m.phase == killed, killedBy(end) == syscall.SIGKILL:
		m.phase = killed
		m.returnAt = now.Add(killPause)
	default:
		if now.Sub(m.startedAt) >= settled {
			m.crashes = 0
		}
		m.phase = crashed
		m.returnAt = now.Add(min(crashPause<<min(m.crashes, 10), mostPause))
		m.crashes++
		m.crashed++
	}
}

// due are the members that should start now.
func (c *crew) due(now time.Time) []*member {
	var due []*member
	for _, m := range c.members {
		if !m.returnAt.IsZero() && !now.Before(m.returnAt) {
			due = append(due, m)
		}
	}
	return due
}

// named finds the member of the given name; nil if there is none.
func (c *crew) named(name string) *member {
	i := slices.IndexFunc(c.members, func(m *member) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return c.members[i]
}

// close ends all members, and returns when they are gone. Members may end in order until
// hurry is closed or c.grace is over; then close kills the others, and returns their names. It calls slow
// once with the names of members that take long. It returns an error if c.grace was over before hurry.
func (c *crew) close(hurry <-chan struct{}, slow func(names []string)) (slain []string, err error) {
	living := slices.DeleteFunc(slices.Clone(c.members), func(m *member) bool { return m.child == nil || !m.child.living() })
	for _, m := range living {
		m.phase = stopping
		m.child.signal(syscall.SIGTERM)
	}
	grace, long := clock.NewTimer(c.grace), clock.NewTimer(longWait)
	defer grace.Stop()
	defer long.Stop()
	for i := 0; i < len(living); {
		select {
		case <-living[i].child.ended:
			i++
		case <-long.C:
			slow(alive(living[i:]))
		case <-hurry:
			return slay(living[i:]), nil
		case <-grace.C:
			slain = slay(living[i:])
			return slain, fmt.Errorf("did not end within %v and were killed: %s", c.grace, strings.Join(slain, ", "))
		}
	}
	return nil, nil
}

// alive names the members that have not ended.
func alive(members []*member) (names []string) {
	for _, m := range members {
		if m.child.living() {
			names = append(names, m.name)
		}
	}
	return names
}

// slay kills the members that still live, and names them.
func slay(members []*member) (slain []string) {
	slain = alive(members)
	for _, m := range members {
		m.child.killGroup()
	}
	for _, m := range members {
		<-m.child.ended
	}
	return slain
}

// pid is the process id of the member itself, not of its parent; zero before the first process.
func (m *member) pid() int {
	if m.child == nil {
		return 0
	}
	return parent.MemberOf(m.child.pid)
}
