package interop_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/interop/elector"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestTheyAreKilled checks that after an elector was killed we lead once its recorded duration and
// the wait of our claim are over, not before.
func TestTheyAreKilled(t *testing.T) {
	t.Parallel()
	theyAreKilled(newArena(t, count(30)), "", nil)
}

func theyAreKilled(a *arena, program string, bend func(*elector.Options)) {
	a.t.Helper()
	theirs := a.electorProcess("client-go", program, bend)
	a.works(theirs)
	we := a.member("primacy", nil, nil)
	a.sees(we, theirs)
	at := now()
	theirs.kill()
	a.works(we)
	a.took("46: it is killed, we lead", a.since(at))
	a.notBefore("its last renewal is waited out", a.afterForeign)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range a.locks {
		claimed, found := a.claimed(l)
		if !found {
			a.t.Errorf("%s: taken without a claim", l)
			continue
		}
		if held := claimed.lease.Spec.AcquireTime.Sub(a.foreign(l).renewed()); held < longerLease() {
			a.t.Errorf("%s: claimed %v after its last renewal, before its lease had ended", l, held)
		}
	}
}

// TestWeAreKilled checks that after our member was killed the elector leads, and measures how soon.
func TestWeAreKilled(t *testing.T) {
	t.Parallel()
	weAreKilled(newArena(t, count(30)), "", nil)
}

func weAreKilled(a *arena, program string, bend func(*elector.Options)) {
	a.t.Helper()
	we := a.memberProcess("primacy", immediate)
	a.works(we)
	theirs := a.electorProcess("client-go", program, bend)
	a.sees(theirs, we)
	at := now()
	we.kill()
	a.works(theirs)
	a.took("47: we are killed, it leads", a.since(at))
}

// immediate lets a member take a lock that nobody ever held.
func immediate(e *entry) { e.Bootstrap = machine.BootstrapImmediate }

// TestWeAreCutOff checks that a member of ours that is cut off has stopped when the elector begins to
// lead, even if our work takes all of its grace. An elector does not see renewals within the same second,
// so we cut where two renewals are closest: after the first renewal of a term.
func TestWeAreCutOff(t *testing.T) {
	t.Parallel()
	a := newArena(t, count(20))
	line := newCuttable()
	we := a.member("primacy", line, func(e *entry) { immediate(e); e.Slow = true })
	a.works(we)
	theirs := a.elector("client-go", func(o *elector.Options) {
		if !long {
			o.RetryPeriod /= 5
		}
	})
	a.each("renewed once", func(l string) bool {
		n := 0
		for _, s := range a.seen[l] {
			if record.OurForm(holder(s.lease)) {
				n++
			}
		}
		return n >= 2
	})
	at := now()
	line.cut()
	a.works(theirs)
	a.took("47: we are cut off, it leads", a.since(at))
	a.took("47: work was over before it led", func(l string) (d time.Duration) {
		spans := a.spans[l]
		return spans[len(spans)-1].from.Sub(spans[len(spans)-2].till)
	})
}
