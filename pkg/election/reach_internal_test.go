package election

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election/internal/member"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// byBeats is the work of a term that the beats of a session extend; it records when it was told to stop.
type byBeats struct {
	*work
	told chan record.Instant
	over chan struct{}
}

func beginByBeats(t *testing.T, c clocktest.Bubble, r *reach, grace time.Duration) byBeats {
	t.Helper()
	b := byBeats{told: make(chan record.Instant, 1), over: make(chan struct{})}
	var wg sync.WaitGroup
	runner := RunnerFunc(func(ctx context.Context, _ Term) error {
		<-ctx.Done()
		b.told <- c.Now()
		<-b.over
		return nil
	})
	abort := func(err error) { t.Error(err) }
	b.work = begin(t.Context(), c, runner, Term{Election: "a", Token: 1}, r.deadline(), grace, aborter{abort, zap.NewNop()}, &wg, func(error, bool) {})
	t.Cleanup(wg.Wait)
	b.goBy(r)
	return b
}

func (b byBeats) ended(t *testing.T) {
	t.Helper()
	select {
	case at := <-b.told:
		t.Fatalf("told to stop at %v", time.Duration(at))
	default:
	}
}

// after is so long after the beginning of a bubble, which testing/synctest documents.
func after(d time.Duration) record.Instant {
	return record.Instant(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()).Add(d)
}

// TestTermsGoByOneReach checks that one beat extends all terms that beats keep alive, and that, without
// further beats, each term is stopped in its own time.
func TestTermsGoByOneReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.Bubble{}
		r := newReach(c, member.Beat{Since: 1, Deadline: after(10 * time.Second)})
		long, short := beginByBeats(t, c, r, 3*time.Second), beginByBeats(t, c, r, time.Second)
		defer close(long.over)
		defer close(short.over)
		for n := range 4 {
			time.Sleep(5 * time.Second)
			synctest.Wait()
			r.extend(member.Beat{Since: 1, Deadline: after(time.Duration(15+5*n) * time.Second)})
			for _, w := range []byBeats{long, short} {
				w.ended(t)
				if deadline, _ := w.validity.Deadline(); deadline != r.deadline() {
					t.Fatalf("after beat %d one ends at %v, all at %v", n, deadline, r.deadline())
				}
			}
		}
		// The last beat came at 20 s and is good for 30 s.
		late := beginByBeats(t, c, r, 2*time.Second)
		defer close(late.over)
		for _, w := range []struct {
			byBeats
			at time.Duration
		}{{long, 27 * time.Second}, {late, 28 * time.Second}, {short, 29 * time.Second}} {
			if at := <-w.told; at != after(w.at) {
				t.Errorf("told at %v, want %v", time.Duration(at), w.at)
			}
			w.end(Stop{}) // a second call changes nothing
			if by := w.deadBy(); by != after(30*time.Second) {
				t.Errorf("dead by %v", time.Duration(by))
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.guard != nil || len(r.works) != 0 {
			t.Error("the guard of nobody is still set")
		}
	})
}

// TestABeatInTheLastMoment checks that a beat that comes when the longest grace has begun saves the works
// that were not told to stop, and no others.
func TestABeatInTheLastMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.Bubble{}
		r := newReach(c, member.Beat{Since: 1, Deadline: after(10 * time.Second)})
		long, short := beginByBeats(t, c, r, 3*time.Second), beginByBeats(t, c, r, time.Second)
		defer close(short.over)
		if at := <-long.told; at != after(7*time.Second) {
			t.Fatalf("told at %v", time.Duration(at))
		}
		r.extend(member.Beat{Since: 1, Deadline: after(20 * time.Second)})
		if deadline, _ := long.validity.Deadline(); deadline != after(10*time.Second) || long.deadBy() != deadline {
			t.Errorf("what was stopped goes on until %v", time.Duration(deadline))
		}
		joins := beginByBeats(t, c, r, 3*time.Second)
		close(long.over)
		time.Sleep(4 * time.Second)
		synctest.Wait()
		short.ended(t)
		short.extend(after(25 * time.Second)) // from here on its own lock gives its deadline
		if at := <-joins.told; at != after(17*time.Second) {
			t.Errorf("told at %v", time.Duration(at))
		}
		close(joins.over)
		r.extend(member.Beat{Since: 1, Deadline: after(40 * time.Second)})
		if at := <-short.told; at != after(24*time.Second) {
			t.Errorf("told at %v", time.Duration(at))
		}
	})
}

// TestJoinsLate checks that a work that joins after the common guard has run keeps its own deadline.
func TestJoinsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.Bubble{}
		r := newReach(c, member.Beat{Since: 1, Deadline: after(10 * time.Second)})
		long, other := beginByBeats(t, c, r, 5*time.Second), beginByBeats(t, c, r, 2*time.Second)
		defer close(long.over)
		defer close(other.over)
		<-long.told
		stays := beginByBeats(t, c, r, time.Second)
		defer close(stays.over)
		if at := <-stays.told; at != after(9*time.Second) {
			t.Errorf("told at %v", time.Duration(at))
		}
	})
}

// TestALongerGraceJoins checks that the common guard uses the longest grace, whenever the work with that
// grace joins.
func TestALongerGraceJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.Bubble{}
		r := newReach(c, member.Beat{Since: 1, Deadline: after(10 * time.Second)})
		short, long := beginByBeats(t, c, r, time.Second), beginByBeats(t, c, r, 3*time.Second)
		defer close(long.over)
		defer close(short.over)
		r.extend(member.Beat{Since: 1, Deadline: after(20 * time.Second)})
		if at := <-long.told; at != after(17*time.Second) {
			t.Errorf("told at %v", time.Duration(at))
		}
	})
}

// TestLeavesTheReach checks that beats no longer extend work that was told to stop, and the reach keeps
// no work that has returned. A waiter for a beat wakes up when the work's own lock gives its deadline.
func TestLeavesTheReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.Bubble{}
		r := newReach(c, member.Beat{Since: 1, Deadline: after(10 * time.Second)})
		w, returns := beginByBeats(t, c, r, time.Second), beginByBeats(t, c, r, time.Second)
		own := beginByBeats(t, c, r, time.Second)
		defer close(own.over)
		_, extended := own.validity.Deadline()
		own.extend(after(12 * time.Second))
		select {
		case <-extended:
		default:
			t.Error("whoever waited for a beat waits on")
		}
		w.end(Stop{By: after(10 * time.Second)})
		w.goBy(r)
		w.extend(after(25 * time.Second))
		r.extend(member.Beat{Since: 1, Deadline: after(20 * time.Second)})
		if by := w.deadBy(); by != after(10*time.Second) {
			t.Errorf("dead by %v", time.Duration(by))
		}
		returns.cancel(nil)
		close(returns.over)
		close(w.over)
		synctest.Wait()
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.works) != 0 {
			t.Errorf("the reach keeps %d works", len(r.works))
		}
	})
}

// TestTermsOfBeforeAGap checks that after a gap between the beats no earlier term is extended.
func TestTermsOfBeforeAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.Bubble{}
		h := &host{m: &Manager{tally: newTally()}, cfg: &Config{Clock: c}, works: map[member.ID]*work{}, entrants: map[member.ID]*entrant{}}
		h.publish(member.Beat{Since: 1, Deadline: after(10 * time.Second)})
		w := beginByBeats(t, c, h.reach, 3*time.Second)
		defer close(w.over)
		h.publish(member.Beat{Since: 1, Deadline: after(12 * time.Second)})
		h.publish(member.Beat{Since: 5, Deadline: after(30 * time.Second)})
		if at := <-w.told; at != after(9*time.Second) {
			t.Errorf("told at %v", time.Duration(at))
		}
	})
}

// TestStatusByBeats checks that the published deadline of a term that beats extend follows the last beat.
func TestStatusByBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.Bubble{}
		s := newStatus("a", newShared(c))
		r := newReach(c, member.Beat{Since: 1, Deadline: after(10 * time.Second), Sent: after(0)})
		s.begin(7, r.deadline())
		s.goBy(r, 5*time.Second)
		ended := make(chan record.Instant, 1)
		s.ValidTerm().OnEnd(func(Stop) { ended <- c.Now() })
		time.Sleep(6 * time.Second)
		if since, ok := s.SinceRenewal(); !ok || since != 6*time.Second || !s.InJeopardy() {
			t.Errorf("renewed %v ago (%v), in jeopardy: %v", since, ok, s.InJeopardy())
		}
		r.extend(member.Beat{Since: 1, Deadline: after(16 * time.Second), Sent: after(6 * time.Second)})
		if v := s.ValidTerm(); v == nil || v.Token != 7 || v.Deadline != after(16*time.Second) || s.InJeopardy() || s.FailingOpen() {
			t.Errorf("after a beat: %+v, in jeopardy: %v", v, s.InJeopardy())
		}
		if v := s.ValidTerm(); v != s.ValidTerm() {
			t.Error("another one each time, though nothing has changed")
		}
		if at := <-ended; at != after(16*time.Second) || s.ValidTerm() != nil {
			t.Errorf("ended at %v, and %v is valid", time.Duration(at), s.ValidTerm())
		}
		r.extend(member.Beat{Since: 1, Deadline: after(20 * time.Second)})
		s.ValidTerm().OnEnd(func(Stop) { ended <- c.Now() }) // at the very deadline: later requests are not cut
		synctest.Wait()                                      // the callback waits for 20s
		s.extend(after(18 * time.Second))                    // by its own lock
		r.extend(member.Beat{Since: 1, Deadline: after(40 * time.Second)})
		if at := <-ended; at != after(18*time.Second) {
			t.Errorf("ended at %v", time.Duration(at))
		}
	})
}

// TestAnEarlierDeadline checks that OnEnd calls in time if a term goes on by its own lock, with an earlier deadline than the beats
// gave it, although nobody asked for the term since the last beat.
func TestAnEarlierDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.Bubble{}
		s := newStatus("a", newShared(c))
		r := newReach(c, member.Beat{Since: 1, Deadline: after(10 * time.Second)})
		s.begin(7, r.deadline())
		s.goBy(r, 5*time.Second)
		ended := make(chan record.Instant, 1)
		s.ValidTerm().OnEnd(func(Stop) { ended <- c.Now() })
		time.Sleep(time.Second)
		r.extend(member.Beat{Since: 1, Deadline: after(20 * time.Second)})
		time.Sleep(10 * time.Second)
		s.extend(after(15 * time.Second))
		if at := <-ended; at != after(15*time.Second) {
			t.Errorf("ended at %v", time.Duration(at))
		}
	})
}
