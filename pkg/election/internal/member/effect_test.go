package member

import (
	"slices"
	"testing"
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
