package election_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestAnnounceThatHangs checks that a member whose announcement hangs leads soon, and leaves, and that its identities are
// announced in their order once that is possible, the latest one last.
func TestAnnounceThatHangs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		var mu, alone sync.Mutex
		var announced []string
		disk := make(chan struct{})
		g.bend = func(c *election.Config, _ *election.Spec) {
			c.Proofs = []election.Proof{election.ProofKubelet}
			c.Container = record.Container{Namespace: "n", Pod: "p", PodUID: "u", Name: "c", ID: "containerd://x"}
			c.Announce = func(identity string) error {
				if !alone.TryLock() {
					t.Error("two announcements at a time")
				} else {
					defer alone.Unlock()
				}
				<-disk
				mu.Lock()
				defer mu.Unlock()
				announced = append(announced, identity)
				return nil
			}
		}
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		g.wantLeader("a", m1, m1)
		first := g.realm.Read(sessionOfM1)
		stolen := *first.Record // so the member comes back under another identity
		stolen.Holder, stolen.Mark = "", &record.Mark{Beat: first.Record.Mark.Beat + 1, Duration: 15 * time.Second, Renewal: record.RenewalRecord}
		if _, err := g.realm.Write(sessionOfM1, stolen, first.Version); err != nil {
			t.Fatal(err)
		}
		after(time.Minute)
		g.wantLeader("a", m1, m1)
		second := g.realm.Read(sessionOfM1)
		m1.stop()
		after(time.Minute)
		select {
		case err := <-m1.done:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("Run has not returned a minute after the stop")
		}
		close(disk)
		after(time.Second)
		mu.Lock()
		defer mu.Unlock()
		if want := []string{first.Record.Holder, second.Record.Holder}; !slices.Equal(announced, want) {
			t.Errorf("announced %v, want %v", announced, want)
		}
	})
}
