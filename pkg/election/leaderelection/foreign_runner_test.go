//go:build linux

package leaderelection_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKubeSchedulerAsRunner runs kube-scheduler as it is, without its own election, as the exec runner of two members, and kills
// the member whose scheduler works: alone, and together with its parent. Beside that it kills kube-scheduler that elects its
// own leader. PRIMACY_FOREIGN_RUNNER says how many members to kill; without it the test is skipped, since it builds
// kube-scheduler (minutes the first time).
func TestKubeSchedulerAsRunner(t *testing.T) {
	rounds := roundsIn(t, "PRIMACY_FOREIGN_RUNNER", "=10 builds kube-scheduler and kills 10 members, about 20 s each")
	build, _, version := foreignTree(t)
	original := build("original")
	posts := newPosts(t, newRig(t), original)
	posts.plant()

	seen := map[string][]handed{}
	note := func(what string, h handed) {
		t.Logf("%s: %v; load %s", what, h, load(t))
		seen[what] = append(seen[what], h)
	}
	const alone, both, own = "runner of a member, SIGKILL of the member", "runner of a member, SIGKILL of member and parent", "its own election, SIGKILL"
	for range rounds {
		note(alone, posts.round(member))
	}
	for range max(1, rounds/10) {
		note(both, posts.round(memberAndParent))
	}
	for n := range max(1, rounds*3/10) {
		first := posts.start(original, fmt.Sprintf("original %d.1", n))
		posts.start(original, fmt.Sprintf("original %d.2", n))
		o := posts.end(first, syscall.SIGKILL)
		note(own, handed{first: o.first, api: o.apiFirst, gone: o.ending, born: o.ending + o.apart, apart: o.apart}) // its work begins: the process lives already
		if found := conflicts(posts.clear()); found != nil {
			t.Errorf("at work at once: %v", found)
		}
	}
	t.Logf("kube-scheduler %s, from the signal to the next binding", version)
	t.Log("| | n | next binding, median | worst | by the API, worst | next began, median | least time between the two |")
	for _, what := range []string{alone, both, own} {
		of := func(d func(handed) time.Duration) (all []time.Duration) {
			for _, h := range seen[what] {
				all = append(all, d(h))
			}
			slices.Sort(all)
			return all
		}
		first, api := of(func(h handed) time.Duration { return h.first }), of(func(h handed) time.Duration { return h.api })
		born, apart := of(func(h handed) time.Duration { return h.born }), of(func(h handed) time.Duration { return h.apart })
		n := len(first)
		t.Logf("| %s | %d | %.2f s | %.2f s | %.2f s | %v | %v |", what, n, first[n/2].Seconds(), first[n-1].Seconds(), api[n-1].Seconds(),
			born[n/2].Round(time.Millisecond), apart[0].Round(time.Millisecond))
	}
}

// handed is what a kill led to.
type handed struct {
	// From the signal until the next scheduler bound a Pod, by that scheduler's log, and by the API.
	first, api time.Duration
	// From the signal until the killed one's scheduler was gone, and the next one's process began; and between the two.
	gone, born, apart time.Duration
}

func (h handed) String() string {
	return fmt.Sprintf("%.2f s until the next binding (API: %.2f s); scheduler gone after %v, the next began %v after that",
		h.first.Seconds(), h.api.Seconds(), h.gone.Round(time.Millisecond), h.apart.Round(time.Millisecond))
}

// load is the load of this machine.
func load(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}
