package priority

import (
	"fmt"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// pinning are preferences with a pinned member, synced or not.
func pinning() []record.Preferred {
	var all []record.Preferred
	for _, d := range preferences {
		d.Member = "web-0"
		all = append(all, d)
	}
	return all
}

// people are members of three hosts, one with two incarnations, and candidates without an identity of
// ours.
func people() []Candidate {
	var all []Candidate
	for _, identity := range []string{"web-0_00000001", "web-0_00000002", "web-1_00000003", "web_00000004"} {
		for _, key := range []record.Key{"red", "^red", "green"} {
			for _, weight := range []int{1, 2} {
				all = append(all, Candidate{Key: key, weight: weight, known: true, identity: identity})
			}
		}
	}
	for _, key := range []record.Key{"", "red", "green", "^green"} {
		all = append(all, Unweighed(key))
	}
	return all
}

func everyPolicy() []Policy { return append(chains(), RevisionLocation{}, None{}) }

// TestPinnedLaws checks that Outranks and Order keep the promises of Policy, over all triples, whatever
// is pinned, drained or paused.
func TestPinnedLaws(t *testing.T) {
	all := people()
	for _, p := range everyPolicy() {
		for _, d := range append(pinning(), draining()...) {
			told := map[string]bool{}
			check := func(ok bool, law string, who ...Candidate) {
				if !ok && !told[law] { // the first of each kind
					told[law] = true
					t.Errorf("%v, %v preferred: %s: %v", p, d, law, who)
				}
			}
			beats, order := make([][]bool, len(all)), make([][]int, len(all))
			for i, a := range all {
				beats[i], order[i] = make([]bool, len(all)), make([]int, len(all))
				for j, b := range all {
					beats[i][j], order[i][j] = Outranks(p, a, b, d), sign(Order(p, a, b, d))
					check(!beats[i][j] || synced(d), "outranks though nothing is synced", a, b)
					check(!beats[i][j] || order[i][j] < 0, "outranks and does not come before", a, b)
					check(order[i][j] == -sign(Order(p, b, a, d)), "order depends on who asks", a, b)
				}
				check(!beats[i][i], "outranks itself", a)
				check(order[i][i] == 0, "is not level with itself", a)
			}
			for i, a := range all {
				for j, b := range all {
					for k, c := range all {
						if beats[i][j] && beats[j][k] && !beats[i][k] {
							check(false, "outranks the second, which outranks the third, yet not the third", a, b, c)
						}
						if order[i][j] <= 0 && order[j][k] <= 0 && order[i][k] > 0 {
							check(false, "before the second, which is before the third, yet not the third", a, b, c)
						}
					}
				}
			}
		}
	}
}

// TestPinDecides checks what a pin changes: the pinned member comes before all others, and between
// others nothing changes.
func TestPinDecides(t *testing.T) {
	for _, p := range everyPolicy() {
		for _, d := range pinning() {
			bare := d
			bare.Member = ""
			for _, a := range people() {
				for _, b := range people() {
					outranks, order := Outranks(p, a, b, bare), sign(Order(p, a, b, bare))
					if one, other := record.HostOf(a.identity) == "web-0", record.HostOf(b.identity) == "web-0"; synced(d) && one != other {
						outranks, order = one, first(one, other)
					}
					if got := Outranks(p, a, b, d); got != outranks {
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

func ExampleOutranks() {
	pinned := record.Prefer("1-9-0")
	pinned.Member = "web-0"
	here := Weighed(record.Member{Identity: "web-0_6f1d2c3b", Revision: "1-8-0"})
	there := Weighed(record.Member{Identity: "web-1_0a1b2c3d", Revision: "1-9-0"})
	fmt.Println(Outranks(RevisionLocation{}, here, there, pinned), Outranks(RevisionLocation{}, there, here, pinned))
	// Output: true false
}
