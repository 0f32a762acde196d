package priority

import (
	"fmt"
	"strings"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// candidates are all keys, without a known weight and with three known ones.
func candidates() []Candidate {
	var all []Candidate
	for _, k := range keys() {
		all = append(all, Unweighed(k))
		for _, w := range []int{0, 100, 300} {
			all = append(all, Candidate{Key: k, weight: w, known: true})
		}
	}
	return all
}

// chains are all lists of keys without repetition, including the empty one.
func chains() []Policy {
	var all []Policy
	var grow func(keys []ChainKey)
	grow = func(keys []ChainKey) {
		all = append(all, By(keys...))
	next:
		for _, k := range chainKeys {
			for _, has := range keys {
				if has == k {
					continue next
				}
			}
			grow(append(keys[:len(keys):len(keys)], k))
		}
	}
	grow(nil)
	return all
}

// TestChains checks that every chain keeps the promises of Policy, over all triples of keys without
// weights and of candidates.
func TestChains(t *testing.T) {
	if n := len(chains()); n != 16 {
		t.Fatalf("%d chains, want 16", n)
	}
	for _, p := range chains() {
		for _, d := range preferences {
			for _, broken := range laws(p, d) {
				t.Errorf("%v, %v preferred: %s", p, d, broken)
			}
			if w, ok := p.(Weighing); ok {
				for _, broken := range weighedLaws(w, d) {
					t.Errorf("%v, %v preferred: %s", p, d, broken)
				}
			}
		}
	}
}

// weighedLaws lists the promises that do not hold over candidates while d is preferred, the first of
// each kind.
func weighedLaws(p Weighing, d record.Preferred) (broken []string) {
	told := map[string]bool{}
	check := func(ok bool, law string, who ...Candidate) {
		if !ok && !told[law] {
			told[law] = true
			broken = append(broken, fmt.Sprintf("%s: %v", law, who))
		}
	}
	all := candidates()
	beats, before := make([][]bool, len(all)), make([][]bool, len(all))
	settled := d.State == record.PreferredUnset || d.State == record.PreferredSet
	for i, a := range all {
		beats[i], before[i] = make([]bool, len(all)), make([]bool, len(all))
		for j, b := range all {
			beats[i][j], before[i][j] = p.OutranksWeighed(a, b, d), p.OrderWeighed(a, b, d) <= 0
			check(!beats[i][j] || settled, "outranks though nothing is synced", a, b)
			check(!beats[i][j] || p.OrderWeighed(a, b, d) < 0, "outranks and does not come before", a, b)
			check(!beats[i][j] || !absent(a.Key), "outranks without a key", a, b)
			check(!beats[i][j] || !absent(b.Key) || isPreferred(a.Key, d), "outranks who has no key", a, b)
			check(!beats[i][j] || b.known || a.Key != b.Key, "outranks by a weight that is not known", a, b)
			check(sign(p.OrderWeighed(a, b, d)) == -sign(p.OrderWeighed(b, a, d)), "order depends on who asks", a, b)
		}
		check(!beats[i][i], "outranks itself", a)
	}
	for i, a := range all {
		for j, b := range all {
			for k, c := range all {
				if beats[i][j] && beats[j][k] {
					check(beats[i][k], "outranks the second, which outranks the third, yet not the third", a, b, c)
				}
				if before[i][j] && before[j][k] {
					check(before[i][k], "before the second, which is before the third, yet not the third", a, b, c)
				}
			}
		}
	}
	return broken
}

// TestWeight checks that the heavier outranks the lighter, and that equals never outrank each other,
// whatever their keys; and that nobody outranks a candidate without weight.
func TestWeight(t *testing.T) {
	p := By(ByWeight)
	for _, d := range preferences {
		for _, a := range candidates() {
			for _, b := range candidates() {
				want := synced(d) && !absent(a.Key) && !absent(b.Key) && a.known && b.known && a.weight > b.weight
				if got := Outranks(p, a, b, d); got != want {
					t.Errorf("%v outranks %v with %v preferred = %v, want %v", a, b, d, got, want)
				}
			}
		}
	}
}

// TestChainDecides checks which key decides, and what follows if it is unknown.
func TestChainDecides(t *testing.T) {
	of := func(key record.Key, weight int) Candidate { return Candidate{Key: key, weight: weight, known: true} }
	red := record.Prefer("red")
	for _, tt := range []struct {
		name       string
		policy     Policy
		challenger Candidate
		holder     Candidate
		outranks   bool
		order      int
	}{
		{"preferred before weight", By(ByPreferred, ByWeight), of("red", 1), of("green", 9), true, -1},
		{"weight before preferred", By(ByWeight, ByPreferred), of("red", 1), of("green", 9), false, 1},
		{"weight where the keys before are level", By(ByPreferred, ByLocation, ByWeight), of("red", 2), of("red", 1), true, -1},
		{"equal in all", By(ByPreferred, ByLocation, ByWeight), of("red", 1), of("red", 1), false, 0},
		{"location among revisions that are not preferred", By(ByPreferred, ByLocation), of("blue", 1), of("^green", 1), true, -1},
		{"revision-location leaves those alone", RevisionLocation{}, of("blue", 1), of("^green", 1), false, -1},
		{"preferred outranks a foreign holder", By(ByPreferred, ByWeight), of("red", 1), Unweighed(""), true, -1},
		{"weight does not", By(ByWeight), of("red", 1), Unweighed("green"), false, -1},
		{"nor does what stands after it", By(ByWeight, ByPreferred), of("red", 1), Unweighed("green"), false, -1},
		{"nor a location that nobody knows", By(ByLocation), of("red", 1), Unweighed(""), false, -1},
		{"a location that is known does", By(ByLocation, ByWeight), of("red", 1), Unweighed("^green"), true, -1},
		{"weight is nothing to who does not look at it", RevisionLocation{}, of("red", 9), of("red", 1), false, 0},
		{"nor to none", None{}, of("red", 9), of("green", 1), false, 0},
	} {
		if got := Outranks(tt.policy, tt.challenger, tt.holder, red); got != tt.outranks {
			t.Errorf("%s: outranks %v", tt.name, got)
		}
		if got := sign(Order(tt.policy, tt.challenger, tt.holder, red)); got != tt.order {
			t.Errorf("%s: order %d", tt.name, got)
		}
	}
}

func TestWeighed(t *testing.T) {
	m := record.Member{Revision: "red", Location: record.Remote, Weight: 7}
	if got, want := Weighed(m), (Candidate{Key: "^red", weight: 7, known: true}); got != want {
		t.Errorf("weighed %v, want %v", got, want)
	}
}

func TestParseChain(t *testing.T) {
	for _, tt := range []struct{ names, want string }{
		{"preferred location weight", "[preferred, location, weight]"},
		{"weight location", "[weight, location]"},
		{"location", "[location]"},
		{"location location preferred", "[location, preferred]"},
		{"weight", "weight"},
		{"", "none"},
	} {
		p, err := ParseChain(strings.Fields(tt.names))
		if err != nil || p.String() != tt.want {
			t.Errorf("%q: %v, %v", tt.names, p, err)
		}
	}
	const want = `unknown key "wieght" of a chain (want one of preferred, location, weight)`
	if _, err := ParseChain([]string{"preferred", "wieght"}); err == nil || err.Error() != want {
		t.Errorf("unknown key: %v", err)
	}
	if ChainKey(9).String() != "ChainKey(9)" {
		t.Error("an unknown key has a name")
	}
	defer func() {
		if recover() == nil {
			t.Error("By takes a key that there is not")
		}
	}()
	By(0)
}
