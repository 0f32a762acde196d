package election_test

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/pkg/election"
)

// TestAnOrphanLeavesThoughItsLogHangs checks that a member whose parent dies releases its locks while its log hangs.
func TestAnOrphanLeavesThoughItsLogHangs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		parent := &parentOf{realm: g.realm, broken: make(chan struct{})}
		read := make(chan struct{})
		core, _ := observer.New(zap.WarnLevel)
		g.bend = func(c *election.Config, _ *election.Spec) {
			c.Parent = parent
			c.Log = zap.New(core, zap.Hooks(func(e zapcore.Entry) error {
				if strings.Contains(e.Message, "the parent process has died") {
					<-read
				}
				return nil
			}))
		}
		m1 := g.join("m1", "stable", stable)
		after(30 * time.Second)
		g.wantLeader("a", m1, m1)
		close(parent.broken)
		after(30 * time.Second)
		if !g.realm.Read("a").Record.Released() {
			t.Error("it keeps its lock while nobody reads its log")
		}
		close(read)
		<-m1.done
	})
}
