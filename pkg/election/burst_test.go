package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// Rules 7 and 12: whose a session-renewed record is follows from the sessions as they were
// shown before it, also where all comes in one burst. m1 comes back in its slot under a new
// identity and takes locks; m2, which was held up, must not take the slot's former owner for
// the present one, and the locks for free.
func TestBurstAfterASlotIsReused(t *testing.T) {
	for range 4 { // in one of ten no hash lets m2 go first
		inBubble(t, burst)
	}
}

func burst(t *testing.T) {
	g := newGroup(t, many(24)...)
	m3 := g.join("m3", "stable", stable)
	after(30 * time.Second)
	m1 := g.join("m1", "stable", stable)
	var held chan struct{} // while set, the owner of m2's realm stops at its log
	g.bend = func(c *election.Config, _ *election.Spec) {
		c.Log = zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(discard{}), zap.InfoLevel),
			zap.Hooks(func(e zapcore.Entry) error {
				if e.Message == "preferred revision" && held != nil {
					<-held
				}
				return nil
			}))
	}
	m2 := g.join("m2", "stable", stable)
	g.bend = nil
	after(10 * time.Second)

	gate := make(chan struct{})
	m2.store.On(memory.Deliver, func(ctx context.Context, _ memory.Call, op func() error) error {
		select {
		case <-gate:
			return op()
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	m1.leave(t)
	m1 = g.join("m1", "stable", stable)
	after(time.Second)
	m3.leave(t)
	after(time.Second)
	if led := ledBy(m1); led == 0 {
		t.Fatal("m1 leads nothing, so this shows nothing")
	}

	m1.store.On(memory.Deliver, memory.Delay(5*time.Millisecond)) // so that an overlap lasts

	held = make(chan struct{})
	m2.prefs.values <- stable
	synctest.Wait()
	close(gate)
	synctest.Wait() // all of it waits for the owner now
	close(held)
	after(time.Minute)
	if led := ledBy(m1) + ledBy(m2); led != len(g.names) {
		t.Errorf("%d elections are led", led)
	}
	m1.leave(t)
	m2.leave(t)
	for _, o := range g.judge.overlaps() {
		t.Error(o)
	}
}

func ledBy(m *member) (n int) {
	for _, s := range m.status {
		if s.IsLeader() {
			n++
		}
	}
	return n
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
