//go:build linux

package deadman

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// begun starts a program that ignores SIGTERM, and whose time is longer than the test.
func begun(t *testing.T) *Process {
	t.Helper()
	return begunUntil(t, clock.Boottime().Now().Add(time.Hour))
}

func begunUntil(t *testing.T, kill record.Instant) *Process {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	p, err := Start(t.Context(), Program{
		Path: "/bin/sh", Args: []string{"sh", "-c", `trap "" TERM; sleep 300 & setsid sleep 300 & wait`}, Files: []*os.File{null, null, null},
	}, kill)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestExpiryCutsTheWorkShort checks that a program counts as killed at its deadline although its work seems over: a plugin that is
// killed hangs up.
func TestExpiryCutsTheWorkShort(t *testing.T) {
	boot := clock.Boottime()
	all := make([]*Process, 10) // whether Watch sees the end of the work or that of the program first is chance
	for i := range all {
		all[i] = begunUntil(t, boot.Now().Add(time.Second))
	}
	over := make(chan struct{})
	close(over)
	for i, p := range all {
		within(t, p.Dead(), "it lives beyond its deadline")
		term, _ := election.NewTerm(election.Term{Election: "e", Token: 7}, boot.Now().Add(time.Duration(i%2)*time.Hour)) // over, or not
		if end := p.Watch(t.Context(), term, Watch{StopGrace: time.Hour, Clock: boot, Log: zap.NewNop(), Done: over}); end != Expired {
			t.Errorf("it ended %v, want %v", end, Expired)
		}
	}
}

// TestAGuardKnowsOfNoStop checks that a program whose work is over has not expired where its guard kills it after its grace: the
// guard hears only how long the program may live.
func TestAGuardKnowsOfNoStop(t *testing.T) {
	p := begun(t)
	supervisor := p.Supervisor()
	if err := syscall.Kill(supervisor, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(supervisor, syscall.SIGCONT) }) // it is gone, unless the test failed
	boot := clock.Boottime()
	term, _ := election.NewTerm(election.Term{Election: "e", Token: 7}, boot.Now().Add(time.Hour))
	over := make(chan struct{})
	close(over)
	if end := p.Watch(t.Context(), term, Watch{StopGrace: 100 * time.Millisecond, Clock: boot, Log: zap.NewNop(), Done: over}); end != Over {
		t.Errorf("it ended %v, want %v", end, Over)
	}
	if !p.overran {
		t.Error("its guard had no part in it")
	}
}

// within waits 20 s for an event that comes at once, or, if the test must fail, after an hour.
func within(t *testing.T, event <-chan struct{}, missing string) {
	t.Helper()
	timer := clock.NewTimer(20 * time.Second)
	defer timer.Stop()
	select {
	case <-event:
	case <-timer.C:
		t.Fatal(missing)
	}
}

// TestEndOfAPipeKills checks that the end of either pipe ends the program. Both pipes end when our
// process dies.
func TestEndOfAPipeKills(t *testing.T) {
	for name, pipe := range map[string]func(*Process) *os.File{
		"supervisor's": func(p *Process) *os.File { return p.control }, "guard's": func(p *Process) *os.File { return p.guardControl },
	} {
		t.Run(name, func(t *testing.T) {
			p := begun(t)
			t.Cleanup(p.Kill)
			if err := pipe(p).Close(); err != nil {
				t.Fatal(err)
			}
			within(t, p.Dead(), "it lives")
		})
	}
}

// TestNothingIsExtendedAfterTheStop checks that an extension after the stop has no effect, even for a
// frozen supervisor or guard.
func TestNothingIsExtendedAfterTheStop(t *testing.T) {
	p := begun(t)
	boot := clock.Boottime()
	term, extend := election.NewTerm(election.Term{Election: "e", Token: 7}, boot.Now().Add(time.Hour))
	ctx, cancel := context.WithCancelCause(t.Context())
	done, asked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		p.Watch(ctx, term, Watch{
			StopGrace: time.Hour, Clock: boot, Log: zap.NewNop(), Ask: func(context.Context) { close(asked) },
		})
	}()
	watchers := []int{p.Guard(), p.Supervisor()}
	t.Cleanup(func() {
		for _, pid := range watchers {
			_ = syscall.Kill(pid, syscall.SIGCONT) // the watcher is gone, unless the test failed
		}
		p.Kill()
		<-done
	})
	for _, pid := range watchers {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	cancel(&election.Stop{Reason: "test", By: boot.Now().Add(time.Second)})
	within(t, asked, "it is not asked to stop")
	extend(boot.Now().Add(2 * time.Hour))
	within(t, done, "it lives beyond its stop")
}

// TestEndOfAWatcherKills checks that the end of either watcher ends the program.
func TestEndOfAWatcherKills(t *testing.T) {
	for name, pid := range map[string]func(*Process) int{"supervisor": (*Process).Supervisor, "guard": (*Process).Guard} {
		t.Run(name, func(t *testing.T) {
			p := begun(t)
			t.Cleanup(p.Kill)
			if err := syscall.Kill(pid(p), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			within(t, p.Dead(), "it lives")
		})
	}
}

// told returns a supervisor in this process, and our end of its pipe.
func told(t *testing.T) (s *supervisor, pipe *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAll(r, w) })
	return &supervisor{clock: clock.Boottime(), report: os.Stderr, pipe: r}, w
}

// TestNothingIsStartedAfterItsTime checks that a supervisor whose job comes too late starts nothing.
func TestNothingIsStartedAfterItsTime(t *testing.T) {
	s, _ := told(t)
	j := job{Path: "/bin/true", Args: []bytestring{"true"}, Kill: s.clock.Now().Add(-time.Millisecond), Guard: os.Getppid()}
	if err := s.begin(j); err != nil || s.program != 0 {
		t.Errorf("it started %d (%v)", s.program, err)
	}
}

// TestNothingIsStartedWithoutAGuard checks that a supervisor starts nothing if its guard ended before
// the kernel could signal that.
func TestNothingIsStartedWithoutAGuard(t *testing.T) {
	s, _ := told(t)
	j := job{Path: "/bin/true", Args: []bytestring{"true"}, Kill: s.clock.Now().Add(time.Minute), Guard: os.Getpid()} // not our parent
	if err := s.begin(j); err == nil || s.program != 0 {
		t.Errorf("it started %d (%v)", s.program, err)
	}
}

// TestNothingIsStartedThatWasGivenUp checks that a supervisor that was frozen while its start was
// given up starts nothing when it goes on, even with a job still in its pipe.
func TestNothingIsStartedThatWasGivenUp(t *testing.T) {
	s, pipe := told(t)
	j := job{Path: "/bin/true", Args: []bytestring{"true"}, Kill: s.clock.Now().Add(time.Minute), Guard: os.Getppid()}
	if _, err := pipe.WriteString("unread"); err != nil {
		t.Fatal(err)
	}
	if err := pipe.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.begin(j); err != nil || s.program != 0 {
		t.Errorf("it started %d (%v)", s.program, err)
	}
}
