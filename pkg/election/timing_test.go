package election_test

import (
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/codec"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestAPartOfATiming checks that a timing of which only some fields are given is completed: runners have
// time to stop.
func TestAPartOfATiming(t *testing.T) {
	for name, bend := range map[string]func(*election.Config, *election.Spec, record.Timing){
		"of the manager":  func(c *election.Config, _ *election.Spec, t record.Timing) { c.Timing = t },
		"of the election": func(_ *election.Config, s *election.Spec, t record.Timing) { s.Timing = t },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				g.stop = 900 * time.Millisecond
				g.bend = func(c *election.Config, s *election.Spec) {
					bend(c, s, record.Timing{LeaseDuration: 4 * time.Second, RenewInterval: time.Second})
				}
				for range 5 {
					m1 := g.join("m1", "stable", stable)
					after(20 * time.Second)
					g.wantLeader("a", m1, m1)
					m1.leave(t)
					select {
					case err := <-m1.aborted:
						t.Errorf("a clean stop aborts: %v", err)
					default:
					}
				}
				g.verdict(5)
			})
		})
	}
}

// TestADurationThatAStrangerSet has a stranger make the marks of a session and of a lock last for a year;
// then their owner dies. It checks that a member that starts after that believes the lock, and waits as
// long as a lease may last, no longer. It does not believe the session, which says otherwise elsewhere.
func TestADurationThatAStrangerSet(t *testing.T) {
	for _, renewal := range []record.Renewal{record.RenewalSession, record.RenewalRecord} {
		t.Run(string(renewal), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				g.renewal = func(string, string) record.Renewal { return renewal }
				m1 := g.join("m1", "stable", stable)
				after(30 * time.Second)
				hangAll(m1.store)
				after(6 * time.Second)
				for _, name := range []string{"a", slot("m1")} {
					g.realm.Edit(name, func(o *codec.Object) {
						o.Annotations[codec.HolderAnnotation] = strings.Replace(o.Annotations[codec.HolderAnnotation], `"durationSeconds":15`, `"durationSeconds":31536000`, 1)
					})
				}
				m2 := g.join("m2", "stable", stable)
				if renewal == record.RenewalSession { // which says it in three places
					after(time.Minute)
					g.wantLeader("a", m2, m2)
				} else {
					after(record.MaxLeaseDuration / 2)
					g.wantLeader("a", nil, m2) // it may be true
					after(record.MaxLeaseDuration/2 + time.Minute)
					g.wantLeader("a", m2, m2)
				}
				m1.store.Heal()
				g.end(m1, m2)
			})
		})
	}
}
