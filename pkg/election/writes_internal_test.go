package election

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// A store that asks to be left alone is asked again only when its time is over, or when it has
// answered something that was sent since. The pool's own answers say nothing of the store.
func TestWhoEndsTheWaitForAStore(t *testing.T) {
	throttled := fmt.Errorf("a: %w", &lock.ThrottledError{RetryAfter: 20 * time.Second, Err: lock.ErrThrottled})
	for name, tt := range map[string]struct {
		asked  bool // by the first answer
		answer answer
		waits  bool
	}{
		"a write that it did":             {true, answer{sent: 5, outcome: lock.Committed}, false},
		"a read":                          {true, answer{sent: 5, outcome: lock.OutcomeOf(nil)}, false},
		"a conflict":                      {true, answer{sent: 5, outcome: lock.Rejected, err: lock.ErrConflict}, false},
		"a read that was sent before":     {true, answer{sent: 1, outcome: lock.Committed}, true},
		"no answer":                       {true, answer{sent: 5, outcome: lock.Unknown, err: lock.ErrUnknown}, true},
		"a write that the pool answered":  {true, refused(t), true},
		"another one that asks":           {true, answer{sent: 5, outcome: lock.OutcomeOf(throttled), err: throttled}, true},
		"a read that was the first to be": {false, answer{sent: 5, outcome: lock.OutcomeOf(throttled), err: throttled}, true},
		"nobody asked":                    {false, answer{sent: 5, outcome: lock.Committed}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := &handClock{}
			c.now.Store(2)
			p := newPool(c, time.Second, 1000)
			if tt.asked {
				p.finished(nil, answer{sent: 1, outcome: lock.OutcomeOf(throttled), err: throttled})
			}
			c.now.Store(6)
			p.finished(nil, tt.answer)
			if waits := p.heldUntil > 6; waits != tt.waits {
				t.Errorf("waits: %v, want %v", waits, tt.waits)
			}
		})
	}
}

// refused is the pool's answer to a write that somebody else was faster than.
func refused(t *testing.T) answer {
	c := &handClock{}
	c.now.Store(5)
	p := newPool(c, time.Second, 1000)
	got := make(chan answer, 1)
	p.enqueue(request{name: "a", purpose: machine.Take, write: &record.Record{}, passed: func() bool { return true }, done: func(a answer) { got <- a }})
	p.dispatch(context.Background())
	p.wait()
	a := <-got
	if a.outcome != lock.Rejected {
		t.Fatalf("the pool answers %+v", a)
	}
	return a
}
