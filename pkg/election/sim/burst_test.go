package sim

import (
	"slices"
	"testing"
	"time"
)

// burstWorld is a run with one process that takes in bursts, and whose driver is idle.
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

func TestABurstIsTakenInAsItCame(t *testing.T) {
	w, p := burstWorld(t)
	var got, want []int
	for n, o := range []origin{fromStream, fromReply, fromStream, fromWork, fromReply, fromStream} {
		want = append(want, n)
		p.deliver(o, func() { got = append(got, n) })
	}
	if len(got) > 0 {
		t.Error("it was not waited for the burst")
	}
	if elapse(w, moment); !slices.Equal(got, want) {
		t.Errorf("taken in as %v, came as %v", got, want)
	}
	if p.bursts.held {
		t.Error("the driver is held up though nothing waits")
	}
}

// What came before the process was stopped comes first; what came meanwhile is read by whoever
// comes first, but each in its order; nothing of it is handled while the process is stopped.
func TestAStoppedProcessTakesInABurst(t *testing.T) {
	w, p := burstWorld(t)
	var got []int
	p.deliver(fromReply, func() { got = append(got, -1) })
	p.pause(time.Second)
	for n := range 40 {
		p.deliver([]origin{fromStream, fromReply}[n%2], func() { got = append(got, n) })
	}
	if elapse(w, time.Second-1); len(got) > 0 {
		t.Errorf("a stopped process has taken in %v", got)
	}
	elapse(w, moment+1)
	if len(got) != 41 || got[0] != -1 {
		t.Fatalf("taken in: %v", got)
	}
	for first := range 2 {
		ordered := slices.DeleteFunc(slices.Clone(got[1:]), func(n int) bool { return n%2 != first })
		if !slices.IsSorted(ordered) {
			t.Errorf("one stream of what came is taken in as %v", ordered)
		}
	}
	if slices.IsSorted(got) {
		t.Error("replies and what the stream showed are in the order in which they came, by chance of 1 in 10^11")
	}
}

// Only what a driver was truly held up for excuses a late stop.
func TestHowLongADriverIsHeldUp(t *testing.T) {
	w, p := burstWorld(t)
	if p.heldUp(0) {
		t.Error("an idle driver is held up")
	}
	w.burstiness.heldUp = 1 // for up to a renewal interval
	var heldFor int64
	began := w.now
	p.deliver(fromReply, func() {
		heldFor, w.burstiness.heldUp = w.now-began, 0
		local := p.h.clock.local(w.now).Sub(p.h.clock.local(began))
		if !p.heldUp(local) || p.heldUp(local+time.Millisecond) {
			t.Errorf("held up for %v, but that is not what is said", local)
		}
	})
	elapse(w, w.timing.RenewInterval)
	if heldFor < int64(moment) {
		t.Errorf("held up for %v", time.Duration(heldFor))
	}
	if p.heldUp(0) {
		t.Error("a driver that took in everything is held up")
	}
}
