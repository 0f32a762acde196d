//go:build linux

package exec_test

import (
	"errors"
	"os"
	osexec "os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"
	"go.yaml.in/yaml/v3"
	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup/cgrouptest"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
	"github.com/primacy-dev/primacy/pkg/runners/exec"
)

// become makes this process, if it is started as a program with a limit, what its argument says. Shells would not do: the
// kernel of tests that is a process itself sometimes fails to fork them.
func become() {
	if len(os.Args) != 2 {
		return
	}
	again := func(program string, args ...string) error {
		c := osexec.Command(program, args...)
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return c.Start()
	}
	switch os.Args[1] {
	case "hogs":
		for range 5 {
			if err := again("/proc/self/exe", "hog"); err != nil {
				panic(err)
			}
		}
	case "hog": // 20 MB
		for all, i := make([]byte, 20_000_000), 0; i < len(all); i += os.Getpagesize() {
			all[i] = 1
		}
	case "bomb":
		for {
			if err := again("/bin/sleep", "1000"); errors.Is(err, unix.EAGAIN) {
				os.Exit(3)
			}
		}
	default:
		return
	}
	for {
		_ = unix.Pause()
	}
}

// limitable gives this process a group below which memory and processes can be limited.
func limitable(t *testing.T) {
	t.Helper()
	g, _, err := cgroup.Divide(cgroup.Always)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		deadman.Within("", cgroup.Trees{})
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	})
	if len(g.Trees.Held) < 2 {
		t.Skip(g.Trees.Why)
	}
	deadman.Within(g.Path, g.Trees)
}

// TestAfterTheLimitOfMemory checks that work that the kernel kills, since all its processes together exceed their limit, is
// run again like any that fails, and that the log and the figures say why.
func TestAfterTheLimitOfMemory(t *testing.T) {
	limitable(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var node yaml.Node
	if err := yaml.Unmarshal([]byte("command: ["+self+", hogs]\nlimits: {memory: 64Mi, processes: 200}\n"), &node); err != nil {
		t.Fatal(err)
	}
	log, logs := observed()
	lacks := func(err error) { t.Errorf("with control groups: %v", err) }
	work, err := exec.Kind()(node.Content[0], runners.Env{Runner: "work", StopGrace: time.Second, Log: log, Missing: lacks, Weaker: lacks})
	if err != nil {
		t.Fatal(err)
	}
	figures := runners.NewFigures("e")
	err = runners.Supervise([]runners.Child{{Name: "work", Kind: "exec", Runner: work}}, runners.Supervision{
		Log: log, Figures: figures, Restart: runners.Restart{First: time.Millisecond, Most: time.Millisecond, Failures: 3},
	}).Run(t.Context(), term(time.Hour))
	var gaveUp *runners.GaveUpError
	if !errors.As(err, &gaveUp) || !errors.Is(err, runners.ErrMemory) || gaveUp.Failures != 3 {
		t.Errorf("it ended with: %v", err)
	}
	if f := figures.Read()[0]; f.Starts != 3 || f.Restarts != 2 || f.Failures[runners.FailureMemory] != 3 {
		t.Errorf("the figures: %+v", f)
	}
	const why = "used up, with all that it had started, the 67108864 bytes of limits.memory"
	told := 0
	for _, e := range logs.All() {
		if s, is := e.ContextMap()["status"].(string); is && strings.Contains(s, why) {
			told++
		}
	}
	if told != 3 || !strings.Contains(err.Error(), why) {
		t.Errorf("told %d times: %v; it said %q", told, err, output(logs, "stderr"))
	}
}

// TestAtTheLimitOfProcesses checks that the log says once that work got no more processes.
func TestAtTheLimitOfProcesses(t *testing.T) {
	limitable(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log, logs := observed()
	c := exec.Command{
		Name: "work", Args: []string{self, "bomb"}, StopGrace: time.Second, Log: log,
		Confinement: deadman.Confinement{Tree: cgroup.Limits{Processes: 60}},
	}
	var exit *exec.ExitError
	if err := exec.New(c).Run(t.Context(), term(time.Hour)); !errors.As(err, &exit) || exit.Status.Refused() == 0 || errors.Is(err, runners.ErrMemory) {
		t.Errorf("it ended with: %v", err)
	}
	if n := logs.FilterLevelExact(zapcore.WarnLevel).FilterMessageSnippet("limits.processes").Len(); n != 1 {
		t.Errorf("%d warnings of the limit", n)
	}
}

// TestInAKernelOfItsOwn runs the tests of limits where memory and processes can be limited.
func TestInAKernelOfItsOwn(t *testing.T) {
	cgrouptest.Boot(t, "TestAfterTheLimitOfMemory", "TestAtTheLimitOfProcesses")
}
