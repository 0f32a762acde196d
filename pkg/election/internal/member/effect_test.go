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

// TestAStopTakesBackAnUntoldStart checks that a stop takes back a start that the host was not told of, and that the machine then learns
// at once that the work has stopped. If the host knows of the start, it gets the stop.
func TestAStopTakesBackAnUntoldStart(t *testing.T) {
	for what, hostKnows := range map[string]bool{"the host does not know of the start": false, "the host knows of the start": true} {
		t.Run(what, func(t *testing.T) {
			m := incarnation(Heritage{})
			m.now = 1
			m.enter([]*Election{{ID: 1, Name: "a", Lock: "a", Works: true, Settings: &Settings{}}})
			c := m.contests.of[1]
			m.perform(c, machine.Start{Token: 3, Deadline: m.now.Add(time.Second)})
			if hostKnows {
				m.out.list = nil
			}
			stopped := m.perform(c, machine.Stop{Reason: machine.ReasonLost, By: m.now.Add(time.Second)})
			told := slices.ContainsFunc(m.out.list, func(one Effect) bool {
				_, starts := one.(Start)
				_, stops := one.(Stop)
				return starts || stops
			})
			if told != hostKnows {
				t.Errorf("the host is told of the term: %v, want %v", told, hostKnows)
			}
			if c.working != hostKnows {
				t.Errorf("the work goes on: %v, want %v", c.working, hostKnows)
			}
			if learns := len(stopped) > 0; learns == hostKnows {
				t.Errorf("the machine learns that the work has stopped: %v, want %v", learns, !hostKnows)
			}
		})
	}
}
