package app

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// TestPreviewsOfAMemberThatFell checks that an election moves to a member that fell recently only after
// the time in which the member must prove itself, and that the command announces this time.
func TestPreviewsOfAMemberThatFell(t *testing.T) {
	y := &tally{t: t}
	synctest.Test(t, func(t *testing.T) {
		p := crowded(t, 100)
		fallen := p.members[2]
		fallen.each(func(s *memory.Store) { s.On(memory.Put, memory.Hang()) })
		fallen.leave()
		wait(20 * time.Second)
		p.members = p.members[:2]
		p.members = append(p.members, p.start("green-1", previewedDocument(100), "--revision", "green"))
		wait(6 * time.Second) // the member takes the elections that only it may lead
		for _, m := range p.report().Members {
			if m.Revision == "green" && m.State == status.Live && m.Fallen == 0 {
				t.Fatalf("it has nothing to prove: %+v", m)
			}
		}
		p.steered(y, "revision set green, to a member that fell", setRevision(p, "green"))
		p.end(p.members...)
	})
	y.close()
}
