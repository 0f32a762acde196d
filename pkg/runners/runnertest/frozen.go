//go:build linux

package runnertest

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/runners"
)

// In these cases one of the program's watchers is frozen, and the program does not run yet.

func frozenGuard(t *testing.T, r *run)      { frozenWhileStarting(t, r, "primacy-guard") }
func frozenSupervisor(t *testing.T, r *run) { frozenWhileStarting(t, r, "primacy-deadman") }

// tries is how often the suite tries again after it froze a watcher too late.
const tries = 100

func frozenWhileStarting(t *testing.T, r *run, watcher string) {
	const by = slack
	r.freezeInTime(watcher, far)
	began := now()
	r.stop(by)
	r.must(r.end())
	between(t, now().Sub(began), 0, by)
	if events := r.stage.Unheard(); len(events) > 0 {
		t.Errorf("work was done: %q", events)
	}
}

// hangingStart freezes the guard while the work starts, and extends the term. The start must fail by the term's first
// deadline.
func hangingStart(t *testing.T, r *run) {
	const valid = slack
	r.freezeInTime("primacy-guard", valid)
	began := now()
	r.extend(began.Add(far))
	if err := r.end(); !errors.Is(err, runners.ErrSlowStart) {
		t.Errorf("it returned %v, want ErrSlowStart", err)
	}
	between(t, now().Sub(began), 0, valid+slack)
	if events := r.stage.Unheard(); len(events) > 0 {
		t.Errorf("work was done: %q", events)
	}
}

// freezeInTime begins runs, in terms that are valid for the given time, until it has frozen the watcher before the work
// began.
func (r *run) freezeInTime(watcher string, valid time.Duration) {
	r.Helper()
	for quicker := 0; !r.freezes(watcher, valid); quicker++ {
		if quicker == tries {
			r.Fatalf("the work was quicker %d times", quicker)
		}
		r.stop(far)
		r.must(r.returned())
		r.stage, r.runner = NewStage(r.T), nil
	}
}

// freezes begins a run and freezes the watcher. It returns false if the work had started by then.
func (r *run) freezes(watcher string, valid time.Duration) bool {
	r.Helper()
	r.begin(valid, 0)
	pid := r.watcher(watcher)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) }) // the watcher is gone, unless the case failed
	for !frozen(pid) {                                           // the stop is on its way
		runtime.Gosched()
	}
	if len(Children(r.T, pid)) > 0 {
		_ = syscall.Kill(pid, syscall.SIGCONT)
		return false
	}
	return true
}

// watcher waits for a descendant of this process with the given name.
func (r *run) watcher(name string) int {
	r.Helper()
	for began := now(); now().Sub(began) < patience; runtime.Gosched() {
		for _, pid := range family(r.T, os.Getpid()) {
			line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
			if err == nil && strings.HasPrefix(string(line), name) {
				return pid
			}
		}
	}
	r.Fatalf("there is no %s", name)
	return 0
}

// frozen says whether all threads of a process are stopped.
func frozen(pid int) bool {
	stats, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task/*/stat"))
	return err == nil && !slices.ContainsFunc(stats, func(path string) bool {
		stat, err := os.ReadFile(path)
		_, rest, _ := strings.Cut(string(stat), ") ")
		return err == nil && !strings.HasPrefix(rest, "T")
	})
}
