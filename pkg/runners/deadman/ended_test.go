package deadman

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// unheard is a program of whose supervisor nobody hears anything, as if this process were frozen.
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
	if err := p.begin(program.job(p.Guard(), kill)); err != nil {
		p.abandon()
		t.Fatal(err)
	}
	return p
}

// gone waits until a child of ours has ended.
func gone(pid int) {
	for !zombie(pid) { // it is on its way
		runtime.Gosched()
	}
}

// When a program ended is the word of its supervisor, however late this process hears it.
func TestEndedWhenTheSupervisorSays(t *testing.T) {
	boot := clock.Boottime()
	kill := boot.Now().Add(time.Second)
	p := unheard(t, kill)
	gone(p.Guard())
	heard := boot.Now()
	p.following.Go(p.follow)
	p.Wait()
	if at := p.Ended(); at < kill || at > heard {
		t.Errorf("ended %v after it was to be killed, want between 0s and %v", at.Sub(kill), heard.Sub(kill))
	}
}

// Where neither it nor its guard can say so, that is when this process has seen to it.
func TestEndedWhenNobodySays(t *testing.T) {
	boot := clock.Boottime()
	p := unheard(t, boot.Now().Add(time.Hour))
	watchers := []int{p.Supervisor(), p.Guard()}
	for _, pid := range watchers { // or one of the two says what becomes of the other
		pause(t, pid)
	}
	for _, pid := range watchers {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	gone(p.Guard())
	heard := boot.Now()
	p.following.Go(p.follow)
	p.Wait()
	if at := p.Ended(); at < heard {
		t.Errorf("ended %v before anybody knew", heard.Sub(at))
	}
}
