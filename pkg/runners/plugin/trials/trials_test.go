package trials

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"
)

const leaseDuration = 5 * time.Second // of the profile fast

func TestTrials(t *testing.T) {
	b := build(t)
	t.Run("frozen", func(t *testing.T) { frozen(t, b) })
	t.Run("frozen beside a function", func(t *testing.T) { frozenBesideAFunction(t, b) })
	for _, victim := range []string{manager, alone, above, supervisor, program} {
		t.Run(victim+" killed", func(t *testing.T) { killed(t, b, victim) })
	}
	t.Run("bad company", func(t *testing.T) { badCompany(t, b) })
}

// both starts two members with the given elections, and with one election for each kind of runner
// whose work is a process. That work has two helpers.
func both(t *testing.T, b programs, elections ...string) *pair {
	t.Helper()
	p := newPair(t, b)
	for _, kind := range kinds {
		elections = append(elections, fmt.Sprintf("name: %s\nrunners:\n- name: work\n  %s", kind, p.runner(kind, "")))
	}
	p.configure("", elections...)
	p.start(0)
	p.await(2, kinds...)
	p.start(1)
	return p
}

var kinds = []string{"exec", "plugin"}

// frozen freezes a member for long: its work must be dead before the next member's work begins. The
// member's process goes on, comes back under another identity, and leads again.
func frozen(t *testing.T, b programs) {
	p := both(t, b)
	const leader, other = 0, 1
	for range trials() {
		pid := p.pid(leader)
		p.signal(pid, syscall.SIGSTOP)
		thawed := time.After(3 * leaseDuration)
		p.await(2, kinds...)
		if trials() > 1 {
			<-thawed
		}
		p.signal(pid, syscall.SIGCONT)
		p.stop(other)
		p.await(2, kinds...)
		p.start(other)
	}
	if n := len(p.identities(leader)); n != 1+trials() {
		t.Errorf("frozen %d times, the member has had %d identities", trials(), n)
	}
	p.stop(leader)
	for _, kind := range kinds {
		terms := p.work(kind)
		var afterFreeze, afterStop []time.Duration
		for i := 1; i < len(terms); i++ {
			margin := terms[i].Begin.Sub(terms[i-1].Till)
			if i%2 == 1 {
				afterFreeze = append(afterFreeze, margin)
			} else {
				afterStop = append(afterStop, margin)
			}
		}
		if len(afterStop) < trials() {
			t.Fatalf("%s: %d terms", kind, len(terms))
		}
		t.Logf("%s: from the last sign of life of a frozen member's work to the next member's first: %s", kind, spread(afterFreeze))
		t.Logf("%s: the same when the next member is stopped, and the one that was frozen leads again: %s", kind, spread(afterStop))
		if min(slices.Min(afterFreeze), slices.Min(afterStop)) <= 0 {
			t.Errorf("%s: two members worked at once", kind)
		}
	}
}

// frozenBesideAFunction freezes, for long, a member that also leads an election whose work is a
// function. When it goes on, it must end: nobody can say what the function did.
func frozenBesideAFunction(t *testing.T, b programs) {
	p := both(t, b, "name: function\nrunners:\n- {name: work, func: {kind: demo.heartbeat}}")
	p.signal(p.pid(0), syscall.SIGSTOP)
	p.await(2, kinds...)
	p.signal(p.pid(0), syscall.SIGCONT)
	if code := p.ended(0); code != 70 {
		t.Errorf("it ended with status %d, want 70\n%s", code, p.tail(0))
	}
}

// killed checks that, whichever process is killed, no process of the work is left. It logs how many were left a second later.
func killed(t *testing.T, b programs, victim string) {
	p := both(t, b)
	late, left := map[string]int{}, map[string]int{}
	for range trials() {
		before, helpers := map[string]worker{}, map[string][]worker{}
		for _, kind := range kinds {
			before[kind], helpers[kind], p.others[kind] = p.seen[kind], p.others[kind], nil
		}
		p.bring(victim, before)
		counted := time.After(time.Second)
		if victim == supervisor || victim == program {
			p.await(2, kinds...)
		}
		<-counted
		for _, kind := range kinds {
			for _, w := range append(helpers[kind], before[kind]) {
				if !lives(w.pid) {
					continue
				}
				late[kind+" "+w.role]++
				if !diesWithin(w.pid, patience) {
					left[kind+" "+w.role]++
					_ = syscall.Kill(w.pid, syscall.SIGKILL)
				}
			}
		}
		if victim != supervisor && victim != program {
			p.start(0)
			p.start(1)
			p.await(2, kinds...)
		}
	}
	t.Logf("%s killed, %d times with exec and with plugin, three processes each: left after 1 s: %v", victim, trials(), late)
	if len(left) > 0 {
		t.Errorf("%s killed: left after %v: %v", victim, patience, left)
	}
}

// Victims: the processes to kill.
const (
	manager    = "manager"             // and the parent that would prove its death
	alone      = "manager alone"       // its parent kills what is left
	above      = "parent of a manager" // the manager leaves
	supervisor = "supervisor"
	program    = "program"
)

// bring kills the victims. Either member may lead either election, so the first three kill both members.
func (p *pair) bring(victim string, before map[string]worker) {
	p.t.Helper()
	switch victim {
	case manager:
		p.kill(p.members[0])
		p.kill(p.members[1])
	case alone:
		for i, m := range p.members {
			p.signal(p.pid(i), syscall.SIGKILL)
			_ = m.Wait()
		}
	case above:
		for _, m := range p.members {
			p.signal(m.Process.Pid, syscall.SIGKILL)
			_ = m.Wait()
		}
	case supervisor:
		for _, w := range before {
			p.signal(w.parent, syscall.SIGKILL)
		}
	case program:
		for _, w := range before {
			p.signal(w.pid, syscall.SIGKILL)
		}
	}
}
