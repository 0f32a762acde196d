package member

import (
	"fmt"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestWhoEndsTheWaitForAStore checks that, if a store asks us to wait, the queue waits until the time is over
// or the store answers a request that we sent since. The queue's own refusals must not end the wait.
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
		"a write that the queue answered": {true, refused(t), true},
		"another one that asks":           {true, answer{sent: 5, outcome: lock.OutcomeOf(throttled), err: throttled}, true},
		"a read that was the first to be": {false, answer{sent: 5, outcome: lock.OutcomeOf(throttled), err: throttled}, true},
		"nobody asked":                    {false, answer{sent: 5, outcome: lock.Committed}, false},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue(time.Second, 1000)
			if tt.asked {
				q.finished(2, Own, answer{sent: 1, outcome: lock.OutcomeOf(throttled), err: throttled})
			}
			q.finished(6, Own, tt.answer)
			if waits := q.lane(Own).heldUntil > 6; waits != tt.waits {
				t.Errorf("waits: %v, want %v", waits, tt.waits)
			}
		})
	}
}

// refused is the queue's answer to a passed write.
func refused(t *testing.T) answer {
	t.Helper()
	q := newQueue(time.Second, 1000)
	behind := asked{contest: &contest{preferred: unsynced}, request: request{name: "a", purpose: machine.Take, write: &record.Record{}, replaces: record.Version{UID: "u", Revision: 1}}}
	q.add(behind)
	a, passed, _ := q.next(5)
	if !passed {
		t.Fatalf("%+v is to be sent", a.request)
	}
	return refusal(a)
}

// TestNobodyTakesMeanwhile checks rule no-takeover for a take that was asked for before the word, and waits in the queue.
func TestNobodyTakesMeanwhile(t *testing.T) {
	at := record.Version{UID: "u", Revision: 1}
	for _, tt := range []struct {
		what    string
		purpose machine.Purpose
		owner   machine.Owner
		word    bool
		passed  bool
	}{
		{"a free lock", machine.Take, machine.Free, true, true},
		{"what it holds itself", machine.Take, machine.Mine, true, false},
		{"a renewal", machine.Renew, machine.Mine, true, false},
		{"a release", machine.Release, machine.Mine, true, false},
		{"without the word", machine.Take, machine.Free, false, false},
	} {
		t.Run(tt.what, func(t *testing.T) {
			c := &contest{preferred: &preferred{revision: record.Preferred{State: record.PreferredUnset, NoTakeover: tt.word}}}
			c.state.Lock.Owner, c.state.Lock.Version = tt.owner, at
			q := newQueue(time.Second, 1000)
			q.add(asked{contest: c, request: request{name: "a", purpose: tt.purpose, write: &record.Record{}, replaces: at}})
			if _, passed, _ := q.next(5); passed != tt.passed {
				t.Errorf("passed: %v, want %v", passed, tt.passed)
			}
		})
	}
}

// TestLimit checks that a burst goes out as fast as the limit allows, and no faster.
func TestLimit(t *testing.T) {
	l := newQueue(time.Second, 10).limit
	now := record.Instant(0)
	for n := range 100 {
		for wait := l.take(now); wait > 0; wait = l.take(now) {
			now = now.Add(wait)
		}
		if least := record.Instant(0).Add(time.Duration(n-9) * 100 * time.Millisecond); now < least || n >= 10 && now > least.Add(time.Millisecond) {
			t.Fatalf("request %d went out at %d, want %d", n, now, least)
		}
	}
}

// TestMuteLocksLeaveSlots checks that requests for locks that do not answer leave slots free, and go after all others.
func TestMuteLocksLeaveSlots(t *testing.T) {
	q := newQueue(time.Second, 1000)
	ask := func(purpose machine.Purpose, mute bool) {
		q.add(asked{contest: &contest{mute: mute, preferred: unsynced}, request: request{name: "a", purpose: purpose, write: &record.Record{}}})
	}
	sent := func() (mute, others int) {
		for {
			switch a, _, _ := q.next(5); {
			case a.name == "":
				return mute, others
			case a.mute:
				mute++
			default:
				others++
			}
		}
	}
	for range laneSize {
		ask(machine.Take, true)
		ask(machine.Renew, true)
	}
	if mute, _ := sent(); mute != muteSlots {
		t.Errorf("%d requests for locks that do not answer are under way, want %d", mute, muteSlots)
	}
	for _, purpose := range []machine.Purpose{machine.Create, machine.Renew} {
		for range renewalSlots {
			ask(purpose, false)
		}
		if _, others := sent(); others != renewalSlots {
			t.Errorf("%d other requests (%v) go out at once, want %d", others, purpose, renewalSlots)
		}
	}
	q.leaves(asked{contest: &contest{preferred: unsynced}, mute: true}, answer{sent: 1})
	if mute, _ := sent(); mute != 1 {
		t.Errorf("%d requests for locks that do not answer go out in place of one", mute)
	}
}

// TestNothingHoldsUpARenewal checks that renewals go out at once although the store throttles what waits beside them, also for a lock
// whose last request got no answer; so does the read by which the member learns what became of that request.
func TestNothingHoldsUpARenewal(t *testing.T) {
	q := newQueue(time.Second, 1)
	q.lane(Own).heldUntil, q.lane(Own).probeAt = 1000, 500
	held := &contest{mute: true, state: machine.State{Lock: machine.Lock{Owner: machine.Mine}}}
	for range 2 {
		q.add(asked{contest: &contest{preferred: unsynced}, request: request{name: "take", purpose: machine.Take, write: &record.Record{}}})
	}
	q.add(asked{contest: held, request: request{name: "read"}})
	q.add(asked{contest: held, request: request{name: "renewal", purpose: machine.Renew, write: &record.Record{}}})
	for _, want := range []string{"read", "renewal", ""} {
		if a, _, next := q.next(5); a.name != want || want == "" && next != 500 {
			t.Errorf("%q goes out, want %q; the next one at %d", a.name, want, next)
		}
	}
}

// TestRenewalsHoldUpNoProbe checks that what waits for a store that throttles is tried now and then, although the store also throttles one
// renewal after the other.
func TestRenewalsHoldUpNoProbe(t *testing.T) {
	q := newQueue(time.Second, 1000)
	q.add(asked{contest: &contest{preferred: unsynced}, request: request{name: "release", purpose: machine.Release, write: &record.Record{}}})
	for now := record.Instant(0); now < record.Instant(time.Second); now = now.Add(10 * time.Millisecond) {
		err := &lock.ThrottledError{RetryAfter: 20 * time.Second, Err: lock.ErrThrottled}
		q.finished(now, Own, answer{sent: now, outcome: lock.OutcomeOf(err), err: err})
		if a, _, next := q.next(now); a.name != "" {
			if want := record.Instant(time.Second / 4); now != want {
				t.Errorf("the probe goes out after %v, want %v", time.Duration(now), time.Duration(want))
			}
			return
		} else if next <= now {
			t.Fatalf("at %v the next one goes at %v", time.Duration(now), time.Duration(next))
		}
	}
	t.Error("no probe goes out")
}

// TestAStoreThatThrottlesHoldsUpNoOther checks that what a store asks for counts for its own requests only.
func TestAStoreThatThrottlesHoldsUpNoOther(t *testing.T) {
	q := newQueue(time.Second, 1000)
	other := Store{ID: 1}
	for _, store := range []Store{Own, other} {
		q.add(asked{contest: &contest{preferred: unsynced}, request: request{store: store, name: "release", purpose: machine.Release, write: &record.Record{}}})
	}
	err := &lock.ThrottledError{RetryAfter: 20 * time.Second, Err: lock.ErrThrottled}
	q.finished(5, other, answer{sent: 1, outcome: lock.OutcomeOf(err), err: err})
	if a, _, _ := q.next(6); a.name != "release" || a.store != Own {
		t.Errorf("%+v goes out, want the release in the store that does not throttle", a.request)
	}
	if a, _, next := q.next(6); a.name != "" || next != record.Instant(5).Add(time.Second/4) {
		t.Errorf("%+v goes out, and the next one at %v", a.request, time.Duration(next))
	}
}

// TestWhatAnswers checks which answers say that a lock answers.
func TestWhatAnswers(t *testing.T) {
	write := request{write: &record.Record{}}
	for name, tt := range map[string]struct {
		of     request
		answer answer
		// of a lock whose last request was answered, or not
		mute, stays bool
	}{
		"a write":                         {write, answer{sent: 5, outcome: lock.Committed}, false, false},
		"a conflict":                      {write, answer{sent: 5, outcome: lock.Rejected}, false, false},
		"no answer to a write":            {write, answer{sent: 5, outcome: lock.Unknown}, true, true},
		"no answer to a read":             {request{}, answer{sent: 5, outcome: lock.Unknown}, true, true},
		"a read":                          {request{}, answer{sent: 5, outcome: lock.Committed}, false, true},
		"a write that the queue answered": {write, answer{outcome: lock.Rejected}, false, true},
	} {
		for _, before := range []bool{false, true} {
			q, c := newQueue(time.Second, 1000), &contest{mute: before}
			want := tt.mute
			if before {
				want = tt.stays
			}
			if q.leaves(asked{contest: c, request: tt.of}, tt.answer); c.mute != want {
				t.Errorf("%s, of a lock that was mute before: %v: mute: %v", name, before, c.mute)
			}
		}
	}
}
