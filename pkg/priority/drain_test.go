package priority

import (
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// draining are preferences with drained hosts, pinned to one of them or not, paused or not.
func draining() []record.Preferred {
	var all []record.Preferred
	for _, d := range append(pinning(), preferences...) {
		d.Drained = record.HostsOf("web-0", "web-7")
		all = append(all, d)
		d.Paused = true
		all = append(all, d)
	}
	return all
}

// TestDrainDecides checks that drained members come last under each policy, even if the election is pinned to one of
// them, and that otherwise nothing changes; and that nobody outranks anybody while the preference is paused.
func TestDrainDecides(t *testing.T) {
	drained := func(c Candidate) bool { return record.HostOf(c.identity) == "web-0" }
	for _, p := range everyPolicy() {
		for _, d := range draining() {
			bare := d
			bare.Drained, bare.Paused = "", false
			for _, a := range people() {
				for _, b := range people() {
					outranks, order := Outranks(p, a, b, bare), sign(Order(p, a, b, bare))
					if one, other := drained(a), drained(b); one != other {
						outranks, order = other && synced(d) && !absent(a.Key), first(other, one)
					}
					if got := Outranks(p, a, b, d); got != (outranks && !d.Paused) {
						t.Errorf("%v, %v preferred: %v outranks %v: %v", p, d, a, b, got)
					}
					if got := sign(Order(p, a, b, d)); got != order {
						t.Errorf("%v, %v preferred: order of %v and %v is %d, want %d", p, d, a, b, got, order)
					}
				}
			}
		}
	}
}
