package election_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestTheSessionSaysWhatRunnersLack checks that the session says why runners are not ready, for as many elections as there
// is room for, and that another reason alone is not written before the next beat.
func TestTheSessionSaysWhatRunnersLack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		m1 := g.join("m1", "stable", stable)
		var runners []*readied
		for e := range record.MostLacks + 1 {
			r := &readied{g.judge.runner("m1", 0), make(chan error)}
			runners = append(runners, r)
			m1.late(t, fmt.Sprintf("e%02d", e), r)
		}
		after(20 * time.Second)
		lacks := func() []record.Lack { return g.realm.Read(slot("m1")).Record.Member.Lacks }
		if got := lacks(); len(got) != record.MostLacks || got[0].Why != "it has not reported yet" {
			t.Errorf("before the first report: %d of %v", len(got), got)
		}
		for _, r := range runners[1:] {
			r.say <- nil
		}
		runners[0].say <- errors.New("no key")
		after(10 * time.Second)
		if got, want := lacks(), []record.Lack{{Election: "e00", Why: "no key"}}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		before := g.realm.Revision()
		for i := range 100 {
			runners[0].say <- fmt.Errorf("attempt %d: %s", i, strings.Repeat("x", 1000))
			after(100 * time.Millisecond)
		}
		after(10 * time.Second)
		if got := lacks(); len(got) != 1 || !strings.HasPrefix(got[0].Why, "attempt 99: x") || len(got[0].Why) != 200 {
			t.Errorf("got %v", got)
		}
		interval := election.Default().RenewInterval
		if writes, most := g.writesSince(before, slot("m1")), int(20*time.Second/interval)+1; writes > most {
			t.Errorf("%d writes of the session in 20 s, want at most %d", writes, most)
		}
		runners[0].say <- nil
		after(10 * time.Second)
		if got := lacks(); len(got) > 0 {
			t.Errorf("ready, and yet %v", got)
		}
		m1.leave(t)
	})
}

// TestReadinessIsToldInBatches checks that runners which become ready one after the other do not have the session
// written for each.
func TestReadinessIsToldInBatches(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		m1 := g.join("m1", "stable", stable)
		var runners []*readied
		for e := range 100 {
			r := &readied{g.judge.runner("m1", 0), make(chan error)}
			runners = append(runners, r)
			m1.late(t, fmt.Sprintf("e%02d", e), r)
		}
		after(20 * time.Second)
		before := g.realm.Revision()
		for _, r := range runners {
			r.say <- nil
			after(20 * time.Millisecond)
		}
		after(time.Second)
		if writes := g.writesSince(before, slot("m1")); writes > 12 {
			t.Errorf("%d writes of the session in 3 s", writes)
		}
		if got := g.standing("m1"); len(got) > 0 {
			t.Errorf("m1's session says %q", got)
		}
		m1.leave(t)
	})
}

// writesSince is how often the object was written since the revision.
func (g *group) writesSince(revision uint64, name string) (writes int) {
	g.t.Helper()
	changes, _, err := g.realm.Since(revision)
	if err != nil {
		g.t.Fatal(err)
	}
	for _, e := range changes {
		if e.Name == name {
			writes++
		}
	}
	return writes
}
