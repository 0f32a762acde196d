package election_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/atomic"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// aLease is how long members wait for the session that leaveBehind stores, by a clock that is fast.
const aLease = 15 * time.Second * 1005 / 1000

// TestHandBackWaitsForALease checks that a lock is released once its holder was silent for a lease, and not earlier;
// all else that the same session renewed then needs no wait.
func TestHandBackWaitsForALease(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		leaveBehind(t, g)
		second := g.realm.Read("a")
		if _, err := g.realm.Write("b", *second.Record, record.Version{}); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			from, err := election.HandBack(aMinute(t), g.clock, g.realm.Store(), g.realm.Store(), "a", "operator")
			if err == nil && from != "m1_00000001" {
				err = errors.New("it was held by " + from)
			}
			done <- err
		}()
		after(aLease - time.Millisecond)
		if g.realm.Read("a").Record.Holder == "" || g.realm.Read(sessionOfM1).Record.Released() {
			t.Fatal("it was released before a lease was over")
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if r := g.realm.Read("a").Record; !r.Released() || r.Duration != time.Second || !r.Mark.WasForeign || r.History[0].Who != "operator" {
			t.Errorf("it says %+v, %+v", r, r.Mark)
		}
		at := g.clock.Now()
		if _, err := election.HandBack(aMinute(t), g.clock, g.realm.Store(), g.realm.Store(), "b", "operator"); err != nil || g.clock.Now() != at {
			t.Errorf("the second one: %v, after %v", err, g.clock.Now().Sub(at))
		}
		if from, err := election.HandBack(aMinute(t), g.clock, g.realm.Store(), g.realm.Store(), "b", "operator"); from != "" || err != nil {
			t.Errorf("a free lock: from %q: %v", from, err)
		}
	})
}

// deaf is a store that answers no reads while it is deaf.
type deaf struct {
	lock.Store
	deaf atomic.Bool
}

func (d *deaf) Get(ctx context.Context, name string) (lock.Entry, error) {
	if d.deaf.Load() {
		return lock.Entry{}, context.DeadlineExceeded
	}
	return d.Store.Get(ctx, name)
}

// TestHandBackTakesNothingFromTheLiving checks that a holder whose session changes keeps its lock, however late that
// happens, and that time in which the store answers nobody does not count as silence.
func TestHandBackTakesNothingFromTheLiving(t *testing.T) {
	for _, at := range []time.Duration{time.Millisecond, aLease - time.Millisecond} {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a")
			leaveBehind(t, g)
			done := make(chan error, 1)
			go func() {
				_, err := election.HandBack(aMinute(t), g.clock, g.realm.Store(), g.realm.Store(), "a", "operator")
				done <- err
			}()
			after(at)
			beats(t, g)
			if err := <-done; !errors.Is(err, election.ErrHolderLives) || !errors.Is(err, election.ErrNotHandedBack) {
				t.Errorf("a beat after %v: %v", at, err)
			}
			if g.realm.Read("a").Record.Holder == "" {
				t.Error("it was released")
			}
		})
	}
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		leaveBehind(t, g)
		store := &between{Store: g.realm.Store(), first: func() { beats(t, g) }}
		if _, err := election.HandBack(aMinute(t), g.clock, store, store, "a", "operator"); !errors.Is(err, election.ErrHolderLives) {
			t.Errorf("a beat before the write: %v", err)
		}
	})
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		leaveBehind(t, g)
		store := &deaf{Store: g.realm.Store()}
		done := make(chan error, 1)
		go func() {
			_, err := election.HandBack(aMinute(t), g.clock, store, store, "a", "operator")
			done <- err
		}()
		after(5 * time.Second)
		store.deaf.Store(true)
		after(10 * time.Second)
		store.deaf.Store(false)
		after(aLease - time.Second)
		if g.realm.Read("a").Record.Holder == "" {
			t.Error("it was released, although the store had answered nobody for a while")
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

// TestHandBackThatIsRefused checks that HandBack gives up at once where it may not write, and that it pauses between writes
// that fail for another reason.
func TestHandBackThatIsRefused(t *testing.T) {
	for err, want := range map[error]struct{ most int }{lock.ErrDenied: {1}, lock.ErrThrottled: {200}} {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t, "a")
			leaveBehind(t, g)
			store := &refusing{Store: g.realm.Store(), err: err}
			if _, got := election.HandBack(aMinute(t), g.clock, store, store, "a", "operator"); !errors.Is(got, err) {
				t.Errorf("%v: got %v", err, got)
			}
			if n := int(store.puts.Load()); n == 0 || n > want.most {
				t.Errorf("%v: %d writes, want 1 to %d", err, n, want.most)
			}
		})
	}
}

// refusing is a store that refuses all writes.
type refusing struct {
	lock.Store
	err  error
	puts atomic.Int64
}

func (r *refusing) Put(context.Context, string, record.Record, record.Version) (record.Version, error) {
	r.puts.Inc()
	return record.Version{}, r.err
}
