package member

import (
	"slices"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
)

// TestLotsDiffer checks that the order of contests due at one instant differs between members, and is always
// the same for one member.
func TestLotsDiffer(t *testing.T) {
	order := func(identity string) (places []int32) {
		m := New(Config{Group: "edge", Identity: identity})
		for n := range 50 {
			c := &contest{m: m, slot: notQueued, place: int32(n)} // #nosec G115 -- small
			m.timers.set(c, 5)
		}
		for c := m.timers.due(5); c != nil; c = m.timers.due(5) {
			places = append(places, c.place)
		}
		return places
	}
	one, again, other := order("m1_01234567"), order("m1_01234567"), order("m2_89abcdef")
	if len(one) != 50 || !slices.Equal(one, again) {
		t.Errorf("%v, and then %v", one, again)
	}
	if slices.Equal(one, other) || slices.IsSorted(one) {
		t.Errorf("two members have one order: %v, %v", one, other)
	}
}

// TestTheHostHearsOfATermFromTheInnerContest checks that the timer of the old lock of a migration tells the host nothing of the term: that
// depends on both locks.
func TestTheHostHearsOfATermFromTheInnerContest(t *testing.T) {
	m, inner := migrating()
	outer := inner.outer
	inner.election.Ranges = &Ranges{told: &Range{}}
	outer.alarm = &alarm{at: m.now, report: machine.Report{Kind: machine.Divided}}
	outer.state.Role = machine.Leading
	m.woken(outer)
	if outer.alarm != nil {
		t.Error("its own alarm waits")
	}
	for _, e := range m.out.list {
		if within, is := e.(Within); is {
			t.Errorf("the host hears %+v", within)
		}
	}
}
