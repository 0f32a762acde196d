//go:build linux

package deadman

import (
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// force acts for a guard and a supervisor that do not act in time: it kills the processes below them,
// until none lives. The two are frozen, or get no processor; nobody can tell which. So force wakes
// them. It kills one of them only if that one is frozen again and has no process below it left, since
// nobody may inherit what a watcher leaves.
func (p *Process) force() {
	p.forcing.RLock()
	defer p.forcing.RUnlock()
	idle := map[int]int{} // by process id: how many times in a row nothing lived below it
	for wait := time.Millisecond; ; wait = min(2*wait, lookAgain) {
		watchers := p.watchers()
		for _, w := range watchers {
			_ = w.Signal(syscall.SIGCONT)
			idle[w.pid]++
			if killBelow(w, watchers) {
				idle[w.pid] = 0
			}
			if idle[w.pid] > 1 && frozen(w.pid) { // more than once: the first look may miss a process whose parent was just dying
				_ = w.Kill()
			}
		}
		timer := clock.NewTimer(wait)
		select {
		case <-p.dead:
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// watcher is a guard or supervisor. We keep its process id, which its handle forgets when released.
type watcher struct {
	*os.Process
	pid int
}

// watchers returns the guard, and the supervisor once we know it.
func (p *Process) watchers() []watcher {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.supervisor == nil {
		return []watcher{{p.guard, p.guard.Pid}}
	}
	return []watcher{{p.guard, p.guard.Pid}, {p.supervisor, p.supervisorPid}}
}

// killBelow kills the children of the watcher w except other watchers, and says whether any may still
// live. w inherits the processes that the killed children leave, and the next call kills those.
func killBelow(w watcher, watchers []watcher) (living bool) {
	missed := eachChild(w, func(child watcher) {
		if !slices.ContainsFunc(watchers, func(w watcher) bool { return w.pid == child.pid }) {
			living = true
			_ = child.Kill()
		}
	})
	return living || missed
}

// frozen says whether a signal, or a tracer, has stopped a process.
func frozen(pid int) bool {
	s, err := stateOf(pid)
	return err == nil && (s.letter == 'T' || s.letter == 't')
}

// zombie says whether a process is certainly a zombie.
func zombie(pid int) bool {
	s, err := stateOf(pid)
	return err == nil && s.zombie()
}
