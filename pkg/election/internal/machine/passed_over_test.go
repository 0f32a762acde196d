package machine

import (
	"fmt"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestPassedOverWhoAreGone checks that a member remembers all members that it passes over if they live, however many there are, and
// forgets those that are gone.
func TestPassedOverWhoAreGone(t *testing.T) {
	s := newStep(Config{}, Initial(), record.Instant(time.Hour))
	view := &View{}
	for i := range 2 * manyPassedOver {
		living, gone := fmt.Sprintf("living-%d", i), fmt.Sprintf("gone-%d", i)
		view.Peers = append(view.Peers, Peer{Member: record.Member{Identity: living}})
		s.View = view
		s.note(passedOver{identity: living, until: s.now.Add(-1), count: 1})
		s.note(passedOver{identity: gone, until: s.now.Add(-1), count: 1})
	}
	s.note(passedOver{identity: "another"})
	count := 0
	for _, p := range s.View.Peers {
		count += s.succession.passing(p.Identity).count
	}
	if kept := len(s.succession.passedOver); count != 2*manyPassedOver || kept != 2*manyPassedOver+1 {
		t.Errorf("%d are kept, of which %d live, want %d and %d", kept, count, 2*manyPassedOver+1, 2*manyPassedOver)
	}
}
