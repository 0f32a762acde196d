package interop_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestTheWayBack checks that an elector of client-go can take over what it once held, after the last member of ours was
// killed: nobody has said that the lock is shared, and a member that never saw the elector has led last (rule
// the-way-back-stays-open).
func TestTheWayBack(t *testing.T) {
	t.Parallel()
	a := newArena(t, count(10))
	theirs := a.electorProcess("client-go", "", nil)
	a.works(theirs)
	first := a.member("primacy-first", nil, undeclared)
	a.sees(first, theirs)
	theirs.kill()
	a.works(first)
	last := a.memberProcess("primacy-last", undeclared)
	a.sees(last, first)
	first.leave()
	a.works(last)
	a.each("an elector could take it from the last of us", func(l string) bool { // work begins before the watch shows the take
		lease := a.newest(l).lease
		return time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second == ours().LeaseDuration &&
			strings.Contains(lease.Annotations["primacy.dev/holder"], `"wasForeign":true`)
	})

	back := a.electorProcess("client-go-again", "", nil)
	a.sees(back, last)
	at := now()
	last.kill()
	a.works(back)
	a.took("the last of us is killed, the elector leads", a.since(at))
}

// undeclared is a member whose user does not know of other electors. Its sessions are beside the locks.
func undeclared(e *entry) {
	e.Foreign, e.Sessions = machine.Foreigners{}, e.Space
}

// TestHandBack checks that an elector of client-go leads at once what Handback has released, after a member that
// insisted on sessions was killed. Without that it would wait for a year.
func TestHandBack(t *testing.T) {
	t.Parallel()
	a := newArena(t, count(3))
	we := a.memberProcess("primacy", func(e *entry) {
		undeclared(e)
		immediate(e)
	})
	a.works(we)
	back := a.electorProcess("client-go", "", nil)
	a.sees(back, we)
	client, err := lease.NewClient(a.cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	store := lease.In(client, a.space)
	by := election.Handback{Clock: clock.Boottime(), Leases: store, By: "test"}
	if _, err := by.Release(t.Context(), a.locks[0]); !errors.Is(err, election.ErrHolderLives) {
		t.Errorf("beside a living holder: %v", err)
	}
	at := now()
	we.kill()
	for _, l := range a.locks {
		if from, err := by.Release(t.Context(), l); err != nil || record.HostOf(from) != "primacy" {
			t.Errorf("%s: from %q: %v", l, from, err)
		}
	}
	a.works(back)
	a.took("handed back, the elector leads", a.since(at))
}
