package rollout

import "testing"

// TestPartialSight checks that a controller that does not see its own election decides nothing.
func TestPartialSight(t *testing.T) {
	w := newWorld(t, 4, specOf(weigh(50), weigh(100)))
	w.round()
	want := w.plan.Status.Sealed()
	for _, seen := range []Seen{{}, {Own: own}, {Own: own, Elections: []Election{{Name: "e0", Revision: "green"}}}} {
		if got := Advance(*w.plan.Rollout, w.plan.Status, seen, w.now).Status.Sealed(); got.Sum() != want.Sum() {
			t.Errorf("sees %v, and makes of %+v\n%+v", seen, want, got)
		}
	}
}
