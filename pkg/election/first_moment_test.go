package election_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election"
)

// TestWorkFindsItsMemberLeading checks that the Status says who leads before work begins, even if the host is held up
// at that moment.
func TestWorkFindsItsMemberLeading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t)
		slow := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(io.Discard), zap.InfoLevel),
			zap.Hooks(func(zapcore.Entry) error { time.Sleep(100 * time.Millisecond); return nil }))
		g.bend = func(c *election.Config, _ *election.Spec) { c.Log = slow }
		m := g.join("m1", "stable", stable)
		begun := 0
		of := make(chan *election.Status, 1)
		status, err := m.manager.Add(election.Spec{Name: "a", Bootstrap: election.BootstrapImmediate}, election.RunnerFunc(func(ctx context.Context, term election.Term) error {
			begun++
			status := <-of
			if role, why, _ := status.Role(); role != election.Leading || !status.IsLeader() || status.Leader().Identity != term.Identity || status.Leader().Token != term.Token {
				t.Errorf("work of the term %d of %s begins: this member is %v (%s) and leads: %v; the leader is %+v", term.Token, term.Identity, role, why, status.IsLeader(), status.Leader())
			}
			<-ctx.Done()
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		of <- status
		after(30 * time.Second)
		m.leave(t)
		if begun == 0 {
			t.Error("no work began")
		}
	})
}
