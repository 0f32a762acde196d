package election_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestATermThatIsPutBack has a stranger put a lock back as it was in a term of a living member, while another one leads that is
// cut off. The living member knows that its term is over, so it waits until the other one has certainly stopped (rule
// loss-is-definite).
func TestATermThatIsPutBack(t *testing.T) {
	for _, renewal := range []record.Renewal{record.RenewalRecord, record.RenewalSession} {
		t.Run(string(renewal), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				g.renewal = func(string, string) record.Renewal { return renewal }
				g.stop = time.Second
				m1 := g.join("m1", "stable", stable)
				after(100 * time.Second)
				g.wantLeader("a", m1, m1)
				before, _ := g.realm.Raw("a")
				m2 := g.join("m2", "canary", stable)
				after(30 * time.Second)
				for _, m := range []*member{m1, m2} {
					m.prefs.values <- record.Prefer("canary")
				}
				after(30 * time.Second)
				g.wantLeader("a", m2, m1, m2)
				hangAll(m2.store)
				m2.store.CutWatches()
				g.realm.Edit("a", func(o *codec.Object) { *o = before })
				after(60 * time.Second)
				g.wantLeader("a", m1, m1)
				m2.store.Heal()
				g.end(m1, m2)
			})
		})
	}
}
