package member

import (
	"math/rand/v2"
	"testing"
)

// TestContestsAreWalkedOnceEach checks that each visits every contest once, and that of holds every
// contest, whatever was added and removed before.
func TestContestsAreWalkedOnceEach(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	cs := contests{of: map[ID]*contest{}}
	want := map[*contest]bool{}
	for n := range 500 {
		if len(cs.all) == 0 || rng.IntN(3) > 0 {
			c := &contest{election: &Election{ID: ID(n)}}
			cs.add(c)
			want[c] = true
		} else {
			c := cs.all[rng.IntN(len(cs.all))]
			cs.remove(c)
			delete(want, c)
		}
		walked := map[*contest]int{}
		cs.each(func(c *contest) { walked[c]++ })
		for c := range want {
			if walked[c] != 1 || cs.of[c.election.ID] != c {
				t.Fatalf("one of %d is walked %d times, found %v", len(want), walked[c], cs.of[c.election.ID] == c)
			}
		}
		if len(walked) != len(want) || len(cs.of) != len(want) {
			t.Fatalf("%d are walked and %d known of %d", len(walked), len(cs.of), len(want))
		}
	}
}
