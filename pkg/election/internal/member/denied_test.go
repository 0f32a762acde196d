package member

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// TestADeniedNameIsUnknown checks what a watch by names means that the store denies some of them: their locks are not absent, the watch is not
// begun anew for their sake, and if their terms may outlast an outage, nobody takes them until the watch shows them.
func TestADeniedNameIsUnknown(t *testing.T) {
	n := newNaming()
	n.adds("a", "b")
	for _, c := range n.s.byLock {
		c.election.Outage.Mode = machine.OutageFailOpen
	}
	n.wants(t, "watch [a b]")
	n.shows(lock.Event{Kind: lock.Listing})
	n.shows(lock.Event{Kind: lock.Listed, Revision: 5, Denied: []string{"b"}, Err: lock.ErrDenied})
	n.shows(lock.Event{Kind: lock.Resumed})
	a, b := n.s.byLock["a"], n.s.byLock["b"]
	if !a.state.Lock.Seen || b.state.Lock.Seen {
		t.Errorf("a is known: %v, b is known: %v", a.state.Lock.Seen, b.state.Lock.Seen)
	}
	if a.heldOff > n.now.Add(time.Hour) || b.heldOff < n.now.Add(time.Hour) {
		t.Errorf("a may be taken in %v, b in %v", a.heldOff.Sub(n.now), b.heldOff.Sub(n.now))
	}
	n.catchUp(n.s, "b")
	n.passes(time.Minute)
	n.wants(t)
	if len(n.trouble.of) == 0 {
		t.Error("nobody says that b is denied")
	}
	n.shows(lock.Event{Kind: lock.Broken, Err: lock.ErrEnded})
	n.shows(lock.Event{Kind: lock.Listing})
	n.lists()
	if !b.state.Lock.Seen || b.heldOff > n.now.Add(time.Hour) || len(n.trouble.of) > 0 {
		t.Errorf("b is known: %v, and may be taken in %v; trouble %v", b.state.Lock.Seen, b.heldOff.Sub(n.now), n.trouble.of)
	}
}

// TestADeniedNameIsShownByAnotherWatch checks that a name which the store denied counts as shown once another watch shows it, although that one
// knows of no denial.
func TestADeniedNameIsShownByAnotherWatch(t *testing.T) {
	n := newNaming()
	n.adds("a", "b")
	for _, c := range n.s.byLock {
		c.election.Outage.Mode = machine.OutageFailOpen
	}
	n.wants(t, "watch [a b]")
	n.shows(lock.Event{Kind: lock.Listing})
	n.shows(lock.Event{Kind: lock.Listed, Revision: 5, Denied: []string{"b"}, Err: lock.ErrDenied})
	n.shows(lock.Event{Kind: lock.Listing})
	n.lists()
	if b := n.s.byLock["b"]; !b.state.Lock.Seen || b.heldOff > n.now.Add(time.Hour) {
		t.Errorf("b is known: %v, and may be taken in %v", b.state.Lock.Seen, b.heldOff.Sub(n.now))
	}
}
