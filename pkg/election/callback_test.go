package election_test

import (
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// TestACallbackThatBlocksWithoutARunner checks that the process ends if a callback of OnEnd blocks for longer than the grace of its
// election, though no runner works in it: else the goroutine that steps the member would be held up for ever.
func TestACallbackThatBlocksWithoutARunner(t *testing.T) {
	for name, blocks := range map[string]time.Duration{"for long": time.Hour, "for a moment": time.Second} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t)
				m1 := g.join("m1", "stable", stable)
				status, err := m1.manager.Add(election.Spec{Name: "a"}, nil)
				if err != nil {
					t.Fatal(err)
				}
				after(40 * time.Second)
				released := make(chan struct{})
				status.ValidTerm().OnEnd(func(election.Stop) {
					select {
					case <-released:
					case <-clock.NewTimer(blocks).C:
					}
				})
				if err := m1.manager.Apply(election.Change{Remove: []string{"a"}}); err != nil {
					t.Fatal(err)
				}
				after(10 * time.Second)
				select {
				case err := <-m1.aborted:
					if blocks == time.Second {
						t.Error(err)
					}
				default:
					if blocks == time.Hour {
						t.Error("the process goes on")
					}
				}
				close(released)
				m1.leave(t)
			})
		})
	}
}
