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
// until none lives. The two are frozen, hang, or get no processor; nobody can tell which. So force wakes
// them. It kills one of them only if that one is frozen again, or goes on for many looks, and has no process
// below it left, since nobody may inherit what a watcher leaves.
func (p *Process) force() {
	p.forcing.RLock()
	defer p.forcing.RUnlock()
	// By process id, in how many looks in a row nothing lived below it: idle does not count other watchers, bare does.
	idle, bare := map[int]int{}, map[int]int{}
	for wait := time.Millisecond; ; wait = min(2*wait, lookAgain) {
		watchers := p.watchers()
		for _, w := range watchers {
			_ = w.Signal(syscall.SIGCONT)
			idle[w.pid]++
			bare[w.pid]++
			switch {
			case killBelow(w, watchers):
				idle[w.pid], bare[w.pid] = 0, 0
			case !childless(w.pid):
				bare[w.pid] = 0
			}
			// More than once: the first look may miss a process whose parent was just dying.
			if idle[w.pid] > 1 && frozen(w.pid) || bare[w.pid] >= bareLooks {
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

// bareLooks is in how many looks in a row a watcher must have had nothing below it before force kills it, though it is not
// frozen: about a second. Its runtime may have died, for want of a thread or of memory, and hang in what it says of that. A
// watcher in order ends earlier, and reports that.
const bareLooks = 20

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

// childless says whether a process certainly has no living child, be it a watcher. A child that we may not look at lives.
func childless(pid int) bool {
	all, err := ChildrenOf(pid)
	return err == nil && !slices.ContainsFunc(all, alive)
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
