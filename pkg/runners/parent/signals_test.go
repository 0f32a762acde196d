//go:build linux

package parent

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
)

// TestDemand checks after which signals a member must end at once.
func TestDemand(t *testing.T) {
	type heard struct {
		s  os.Signal
		at time.Duration
	}
	for name, c := range map[string]struct {
		heard []heard
		want  bool
	}{
		"nothing":                  {nil, false},
		"one":                      {[]heard{{unix.SIGTERM, 0}}, false},
		"an echo":                  {[]heard{{unix.SIGTERM, 0}, {unix.SIGTERM, echo - 1}}, false},
		"two":                      {[]heard{{unix.SIGTERM, 0}, {unix.SIGTERM, echo}}, true},
		"two different ones":       {[]heard{{unix.SIGINT, 0}, {unix.SIGTERM, echo}}, true},
		"an echo, and another one": {[]heard{{unix.SIGINT, 0}, {unix.SIGINT, 1}, {unix.SIGINT, echo + 1}}, true},
		"a dump of stacks":         {[]heard{{unix.SIGTERM, 0}, {unix.SIGQUIT, echo}}, false},
		"others": {[]heard{{unix.SIGHUP, 0}, {unix.SIGUSR1, echo}, {unix.SIGHUP, 2 * echo}, {unix.SIGUSR2, 3 * echo},
			{unix.SIGTERM, 4 * echo}, {unix.SIGHUP, 6 * echo}}, false},
	} {
		var q demand
		for _, h := range c.heard {
			q = q.hear(h.s, record.Instant(time.Hour).Add(h.at))
		}
		if q.atOnce != c.want {
			t.Errorf("%s: at once is %v, want %v", name, q.atOnce, c.want)
		}
	}
}

// TestAMemberThatHangsIsKilled checks that a parent kills a member that goes on after a second signal, not before, and not a member
// that got only one.
func TestAMemberThatHangsIsKilled(t *testing.T) {
	for name, c := range map[string]struct {
		second, after time.Duration
		dead          bool
	}{
		"one signal":            {0, time.Hour, false},
		"an echo":               {echo / 2, time.Hour, false},
		"two, too early":        {echo, mercy - 1, false},
		"two":                   {echo, mercy + 1, true},
		"the second much later": {time.Minute, mercy + 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			deaf := exec.Command("/bin/sh", "-c", `trap "" TERM; echo; exec sleep 300`)
			said, err := deaf.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := deaf.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := said.Read(make([]byte, 1)); err != nil { // it is deaf now
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				d := &Dead{member: deaf.Process.Pid}
				signals := make(chan os.Signal)
				ended := make(chan struct{})
				go func() { defer close(ended); d.passOn(clocktest.Bubble{}, signals) }() // joined by the receive below
				signals <- unix.SIGTERM
				if c.second > 0 {
					time.Sleep(c.second)
					signals <- unix.SIGTERM
				}
				time.Sleep(c.after)
				synctest.Wait()
				close(signals)
				<-ended
			})
			_ = deaf.Process.Signal(unix.SIGUSR1) // it ends by this one, unless it was killed
			_ = deaf.Wait()
			want := unix.SIGUSR1
			if c.dead {
				want = unix.SIGKILL
			}
			if got := deaf.ProcessState.Sys().(syscall.WaitStatus).Signal(); got != want {
				t.Errorf("ended by %v, want %v", got, want)
			}
		})
	}
}

// TestAMemberThatCannotJoinItsGroup checks that a member without its control group has its line all the same, by which it hears of
// its parent's end, and that it does not start if it must have the group.
func TestAMemberThatCannotJoinItsGroup(t *testing.T) {
	defer deadman.Within("", deadman.Trees())
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ends[0])
	for _, mode := range []cgroup.Mode{cgroup.Always, cgroup.Auto} {
		text, err := json.Marshal(start{Descriptor: ends[1], Parent: -1, Cgroup: filepath.Join(t.TempDir(), "absent"), Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		line, err := takeLine(string(text))
		switch {
		case mode == cgroup.Always:
			if !errors.Is(err, cgroup.ErrIndivisible) {
				t.Errorf("always: %v", err)
			}
		case err != nil || line.Cgroup != "" || deadman.Trees().Why == "":
			t.Errorf("line %+v, %v; trees %+v", line, err, deadman.Trees())
		default:
			_ = line.file.Close()
		}
	}
}
