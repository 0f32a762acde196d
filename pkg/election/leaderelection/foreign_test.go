package leaderelection_test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKubeScheduler runs kube-scheduler with its own timings, and the same with the imports of the elector changed: alone, rolled out one
// by one and back; leaders are stopped and killed. PRIMACY_FOREIGN says how many rounds to run; without it the test is skipped,
// since it builds kube-scheduler (minutes the first time).
func TestKubeScheduler(t *testing.T) {
	rounds := roundsIn(t, "PRIMACY_FOREIGN", "=3 builds kube-scheduler and runs 3 rounds, about 2 minutes each")
	original, changed := schedulers(t)
	r := newRig(t)
	r.plant(original)

	var names []string
	seen := map[string][]outage{}
	// end ends the leader, notes what that led to, and returns the next leader.
	end := func(leader *scheduler, with syscall.Signal) *scheduler {
		t.Helper()
		o := r.end(leader, with)
		how := map[syscall.Signal]string{syscall.SIGTERM: "stopped", syscall.SIGKILL: "killed"}[with]
		name := fmt.Sprintf("%s %s, %s takes over", kindOf(leader), how, kindOf(o.next))
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		seen[name] = append(seen[name], o)
		t.Logf("%s: %v", name, o)
		return o.next
	}
	finish := func(what string) {
		t.Helper()
		if found := conflicts(r.clear()); found != nil {
			t.Errorf("%s: at work at once: %v", what, found)
		}
	}
	for round := range rounds {
		started := 0
		start := func(program string) *scheduler {
			t.Helper()
			started++
			kind := "original"
			if program == changed {
				kind = "changed"
			}
			return r.start(program, fmt.Sprintf("%s %d.%d", kind, round+1, started))
		}
		for _, same := range []string{original, changed} {
			first := start(same)
			start(same)
			second := end(first, syscall.SIGTERM)
			start(same)
			end(second, syscall.SIGKILL)
			standby := start(same)
			t.Logf("%s: exit status %d after SIGTERM on standby", kindOf(standby), r.leave(standby))
			finish(kindOf(first) + " only")
		}

		leader := start(original)
		start(original)
		for _, next := range []string{changed, changed, original, original} { // out, and back
			leader = end(leader, syscall.SIGTERM)
			start(next)
		}
		finish("rolled out and back")

		leader = start(original)
		for _, next := range []string{changed, original} {
			start(next)
			leader = end(leader, syscall.SIGKILL)
		}
		finish("killed beside the other")
	}
	for _, name := range names {
		var work, lease, api, apart []time.Duration
		for _, o := range seen[name] {
			work, lease, api, apart = append(work, o.work), append(lease, o.lease), append(api, o.api), append(apart, o.apart)
		}
		t.Logf("| %s | %d | %s | %s | %s | %v |", name, len(work), ranging(work), ranging(lease), ranging(api), slices.Min(apart).Round(time.Millisecond))
	}
}

// kindOf is which program a scheduler runs.
func kindOf(s *scheduler) string {
	kind, _, _ := strings.Cut(s.id, " ")
	return kind
}

func ranging(d []time.Duration) string {
	return fmt.Sprintf("%.2f-%.2f s", slices.Min(d).Seconds(), slices.Max(d).Seconds())
}

// plant runs a scheduler outside of the election beside the leader: the judge must notice.
func (r *rig) plant(program string) {
	r.t.Helper()
	leader := r.start(program, "original leader")
	r.until("the leader works", func() bool { return len(leader.work.bound) > 20 })
	outsider := r.start(program, "original outsider", "--leader-elect=false")
	r.until("both work", func() bool { return len(outsider.work.bound) > 20 })
	found := conflicts(r.clear())
	if len(found) != 1 {
		r.t.Fatalf("a planted overlap: found %v", found)
	}
	r.t.Logf("planted: %v", found)
}
