//go:build linux

package deadman

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// unheard is a program whose reports nobody reads yet, as if this process were frozen.
func unheard(t *testing.T, kill record.Instant) *Process {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	program := Program{Path: "/bin/sleep", Args: []string{"sleep", "300"}, Files: []*os.File{null, null, null}}
	p := newProcess()
	if err := p.start(program); err != nil {
		t.Fatal(err)
	}
	if err := p.begin(program.job(p, kill)); err != nil {
		p.abandon()
		t.Fatal(err)
	}
	return p
}

// gone waits until a child of ours has ended, and leaves it for others to reap.
func gone(t *testing.T, pid int) {
	t.Helper()
	err := error(unix.EINTR)
	for errors.Is(err, unix.EINTR) {
		err = unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestEndedWhenTheSupervisorSays checks that Ended is the time that the supervisor reports, however
// late this process reads the report.
func TestEndedWhenTheSupervisorSays(t *testing.T) {
	boot := clock.Boottime()
	kill := boot.Now().Add(time.Second)
	p := unheard(t, kill)
	gone(t, p.Guard())
	heard := boot.Now()
	p.following.Go(p.follow)
	p.Wait()
	if at := p.Ended(); at < kill || at > heard {
		t.Errorf("ended %v after it was to be killed, want between 0s and %v", at.Sub(kill), heard.Sub(kill))
	}
}

// TestEndedWhenNobodySays checks that, if neither supervisor nor guard can report the end, Ended is
// when this process made sure of it.
func TestEndedWhenNobodySays(t *testing.T) {
	boot := clock.Boottime()
	p := unheard(t, boot.Now().Add(time.Hour))
	watchers := []int{p.Supervisor(), p.Guard()}
	for _, pid := range watchers { // pause both, or the other one would report the end
		pause(t, pid)
	}
	for _, pid := range watchers {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	gone(t, p.Guard())
	heard := boot.Now()
	p.following.Go(p.follow)
	p.Wait()
	if at := p.Ended(); at < heard {
		t.Errorf("ended %v before anybody knew", heard.Sub(at))
	}
}

// TestAStrangersGroupIsLeftAlone checks that this process kills no group of a program whose supervisor has reported that nothing of
// it lives: while we were frozen, another process may have got its id.
func TestAStrangersGroupIsLeftAlone(t *testing.T) {
	if err := Adopt(); err != nil {
		t.Fatal(err)
	}
	p := unheard(t, clock.Boottime().Now().Add(time.Hour))
	if err := syscall.Kill(p.Guard(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for alive(p.Supervisor()) { // it kills the program, and reports that
		runtime.Gosched()
	}
	stranger := exec.Command("/bin/sleep", "300")
	stranger.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = stranger.Process.Kill()
		_ = stranger.Wait()
	}()
	p.pid = stranger.Process.Pid
	p.following.Go(p.follow)
	p.Wait()
	if !alive(stranger.Process.Pid) {
		t.Error("the process that has got the id of the program was killed")
	}
	if _, err := stateOf(p.Supervisor()); err == nil {
		t.Error("the supervisor, which we inherited, stays a zombie")
	}
}

// unheardStart is a start whose reports this process reads only when all is over, as if it were frozen.
func unheardStart(t *testing.T, path string, kill record.Instant) (heard record.Instant, failed error) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	program := Program{Path: path, Args: []string{"sleep", "300"}, Files: []*os.File{null, null, null}}
	p := newProcess()
	if err := p.start(program); err != nil {
		t.Fatal(err)
	}
	if err := p.tell(program.job(p, kill)); err != nil {
		t.Fatal(err)
	}
	gone(t, p.Guard())
	heard = clock.Boottime().Now()
	p.patience(time.Now())
	err = p.hear()
	p.patience(time.Time{})
	return heard, p.failed(t.Context(), err)
}

// TestEndedOfAStartThatFailed checks a start that this process took for too late although the program
// may have begun: EndedOf is the time that the supervisor reports.
func TestEndedOfAStartThatFailed(t *testing.T) {
	boot := clock.Boottime()
	kill := boot.Now().Add(time.Second)
	heard, err := unheardStart(t, "/bin/sleep", kill)
	if !errors.Is(err, ErrLate) {
		t.Errorf("the start: %v, want it too late", err)
	}
	if at := EndedOf(err); at < kill || at > heard {
		t.Errorf("ended %v after it was to be killed, want between 0s and %v", at.Sub(kill), heard.Sub(kill))
	}
}

// TestEndedOfWhatNeverBegan checks that a program that never began has no end, whenever this process
// learns of it.
func TestEndedOfWhatNeverBegan(t *testing.T) {
	const nowhere = "/nowhere/to/be/found"
	boot := clock.Boottime()
	if _, err := unheardStart(t, nowhere, boot.Now().Add(time.Minute)); err == nil || EndedOf(err) != 0 {
		t.Errorf("unheard: %v, ended at %d, want it never begun", err, EndedOf(err))
	}
	for path, kill := range map[string]record.Instant{"/bin/sleep": boot.Now(), nowhere: boot.Now().Add(time.Minute)} {
		if _, err := Start(t.Context(), Program{Path: path, Args: []string{"sleep", "300"}}, kill); err == nil || EndedOf(err) != 0 {
			t.Errorf("%s: %v, ended at %d, want it never begun", path, err, EndedOf(err))
		}
	}
}
