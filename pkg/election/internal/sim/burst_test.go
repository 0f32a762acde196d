package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// burstWorld is a run with one idle process that takes in bursts.
func burstWorld(t *testing.T) (*world, *proc) {
	t.Helper()
	w := newWorld(1, Options{Class: Judged, Transcript: -1})
	w.burstiness.share, w.burstiness.heldUp = 1, 0
	w.hosts[0].boot()
	p := w.hosts[0].proc
	if p.bursts == nil {
		t.Fatal("the process does not take in bursts")
	}
	elapse(w, moment)
	return w, p
}

// elapse runs what happens within d.
func elapse(w *world, d time.Duration) {
	end := w.now + int64(d)
	for len(w.queue.heap) > 0 && w.queue.heap[0].at <= end {
		at, do, _ := w.queue.pop()
		w.now = at
		do()
	}
	w.now = end
}

// mark tells the member of n in an input that changes nothing. taken lists the marks that the member took
// in, in order.
func mark(p *proc, o origin, n int) {
	p.tell(o, p.inc, member.Returned{ID: 99, Token: record.Token(n)}) // #nosec G115 -- it is not negative
}

func taken(w *world) (all []int) {
	for line := range strings.Lines(w.transcript.String()) {
		var n int
		if _, after, found := strings.Cut(line, "<- work of token "); found {
			if _, err := fmt.Sscan(after, &n); err == nil {
				all = append(all, n)
			}
		}
	}
	return all
}

func TestABurstIsTakenInAsItCame(t *testing.T) {
	w, p := burstWorld(t)
	var want []int
	for n, o := range []origin{fromStream, fromReply, fromStream, fromWork, fromReply, fromStream} {
		want = append(want, n)
		mark(p, o, n)
	}
	if len(taken(w)) > 0 {
		t.Error("it was not waited for the burst")
	}
	if elapse(w, moment); !slices.Equal(taken(w), want) {
		t.Errorf("taken in as %v, came as %v", taken(w), want)
	}
	if p.bursts.held {
		t.Error("the process is held up though nothing waits")
	}
}

// TestAStoppedProcessTakesInABurst checks that a stopped process handles nothing; after the stop it handles
// first what came before the stop, then what came during it: in a random order of origins, but within an
// origin in the order of arrival.
func TestAStoppedProcessTakesInABurst(t *testing.T) {
	w, p := burstWorld(t)
	mark(p, fromReply, 1000)
	p.pause(time.Second)
	for n := range 40 {
		mark(p, []origin{fromStream, fromReply}[n%2], n)
	}
	if elapse(w, time.Second-1); len(taken(w)) > 0 {
		t.Errorf("a stopped process has taken in %v", taken(w))
	}
	elapse(w, moment+1)
	got := taken(w)
	if len(got) != 41 || got[0] != 1000 {
		t.Fatalf("taken in: %v", got)
	}
	for first := range 2 {
		ordered := slices.DeleteFunc(slices.Clone(got[1:]), func(n int) bool { return n%2 != first })
		if !slices.IsSorted(ordered) {
			t.Errorf("one stream of what came is taken in as %v", ordered)
		}
	}
	if slices.IsSorted(got[1:]) {
		t.Error("replies and what the stream showed are in the order in which they came, by chance of 1 in 10^11")
	}
}

// TestHowLongAProcessIsHeldUp checks that a late stop is excused only by the time for which the process was
// really held up.
func TestHowLongAProcessIsHeldUp(t *testing.T) {
	w, p := burstWorld(t)
	if p.heldUp(0) {
		t.Error("an idle process is held up")
	}
	began := w.now
	mark(p, fromReply, 1)
	w.now += int64(5 * time.Millisecond)
	local := p.h.clock.local(w.now).Sub(p.h.clock.local(began))
	if !p.heldUp(local) || p.heldUp(local+time.Millisecond) {
		t.Errorf("held up for %v, but that is not what is said", local)
	}
	elapse(w, moment)
	if len(taken(w)) != 1 || p.heldUp(0) {
		t.Error("a process that took in everything is held up")
	}
}
