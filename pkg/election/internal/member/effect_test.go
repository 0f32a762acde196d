package member

import (
	"slices"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
)

// TestATermThatIsOverBeforeItsWorkBegins checks that a start which the host does not know of is taken back together with what
// extends that term, and nothing else is.
func TestATermThatIsOverBeforeItsWorkBegins(t *testing.T) {
	one, other := ID(1), ID(2)
	e := effects{[]Effect{Extend{ID: one}, Stop{ID: one}, Start{ID: other}, Start{ID: one}, Extend{ID: one}, Extend{ID: other}, Beat{}, Extend{ID: one}}}
	if !e.withdraw(one) {
		t.Error("the start was not found")
	}
	want := []Effect{Extend{ID: one}, Stop{ID: one}, Start{ID: other}, Extend{ID: other}, Beat{}}
	if !slices.Equal(e.list, want) {
		t.Errorf("what is left is %+v", e.list)
	}
	if e.withdraw(one) || !slices.Equal(e.list, want) {
		t.Error("the host knew of that start already")
	}
}

// TestWorkThatIsOverNeverBegins checks that the host hears nothing of a term that begins and ends in one step, and that the machine
// learns at once that its work has stopped.
func TestWorkThatIsOverNeverBegins(t *testing.T) {
	for _, flushed := range []bool{false, true} { // the host has been told of the start
		m := incarnation(Heritage{})
		m.now = 1
		m.enter([]*Election{{ID: 1, Name: "a", Lock: "a", Works: true, Settings: &Settings{}}})
		c := m.contests.of[1]
		m.perform(c, machine.Start{Token: 3, Deadline: m.now.Add(time.Second)})
		if flushed {
			m.out.list = nil
		}
		stopped := m.perform(c, machine.Stop{Reason: machine.ReasonLost, By: m.now.Add(time.Second)})
		told := slices.ContainsFunc(m.out.list, func(one Effect) bool {
			_, starts := one.(Start)
			_, stops := one.(Stop)
			return starts || stops
		})
		if told != flushed || c.working != flushed || (len(stopped) == 0) != flushed {
			t.Errorf("the host knew of the start: %v; it is told of the term: %v; the work goes on: %v; what follows: %v", flushed, told, c.working, stopped)
		}
	}
}
