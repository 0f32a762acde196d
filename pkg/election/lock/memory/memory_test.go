package memory_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/follow"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

const name = "ingress-status"

func held(transitions int) record.Record {
	return record.Record{Holder: "a", Duration: 15 * time.Second, Transitions: transitions}
}

// TestFaults checks that each fault leaves behind what its name says: the write, or none, and an answer
// or none.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		what    string
		hook    memory.Hook
		outcome lock.Outcome
		written bool
		after   time.Duration
	}{
		{"none", nil, lock.Committed, true, 0},
		{"reject", memory.Reject(lock.ErrDenied), lock.Rejected, false, 0},
		{"lose", memory.Lose(), lock.Unknown, true, 0},
		{"hang", memory.Hang(), lock.Unknown, false, 5 * time.Second},
		{"delay", memory.Delay(2 * time.Second), lock.Committed, true, 2 * time.Second},
		{"delay for too long", memory.Delay(9 * time.Second), lock.Unknown, false, 5 * time.Second},
		{"delay of the reply", memory.DelayReply(2 * time.Second), lock.Committed, true, 2 * time.Second},
		{"delay of the reply for too long", memory.DelayReply(9 * time.Second), lock.Unknown, true, 5 * time.Second},
		{"another name", memory.Named("other", memory.Hang()), lock.Committed, true, 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				realm := memory.New(clock.Boottime())
				s := realm.Store()
				s.On(memory.Put, c.hook)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				start := time.Now()
				v, err := s.Put(ctx, name, held(0), record.Version{})
				if got := lock.OutcomeOf(err); got != c.outcome {
					t.Errorf("outcome %v (%v), want %v", got, err, c.outcome)
				}
				if (err == nil) != (v != record.Version{}) {
					t.Errorf("version %v beside error %v", v, err)
				}
				if written := !realm.Read(name).Absent(); written != c.written {
					t.Errorf("written: %v, want %v", written, c.written)
				}
				if took := time.Since(start); took != c.after {
					t.Errorf("took %v, want %v", took, c.after)
				}
			})
		})
	}
}

func TestOnceAndHeal(t *testing.T) {
	s := memory.New(clock.Boottime()).Store()
	s.On(memory.Get, memory.Once(memory.Reject(lock.ErrDenied)))
	if _, err := s.Get(t.Context(), name); !errors.Is(err, lock.ErrDenied) {
		t.Errorf("the first read got %v", err)
	}
	if _, err := s.Get(t.Context(), name); err != nil {
		t.Errorf("the second read got %v", err)
	}
	s.On(memory.Get, memory.Reject(lock.ErrDenied))
	s.Heal()
	if _, err := s.Get(t.Context(), name); err != nil {
		t.Errorf("a healed read got %v", err)
	}
}

// TestLateWrite checks that a write may be committed after its caller got "outcome unknown".
func TestLateWrite(t *testing.T) {
	realm := memory.New(clock.Boottime())
	s := realm.Store()
	var late func() error
	s.On(memory.Put, func(_ context.Context, _ memory.Call, op func() error) error {
		late = op
		return lock.ErrUnknown
	})
	if _, err := s.Put(t.Context(), name, held(0), record.Version{}); lock.OutcomeOf(err) != lock.Unknown {
		t.Fatalf("got %v", err)
	}
	if !realm.Read(name).Absent() {
		t.Fatal("written too early")
	}
	if err := late(); err != nil || realm.Read(name).Absent() {
		t.Errorf("not written: %v", err)
	}
	if err := late(); !errors.Is(err, lock.ErrExists) {
		t.Errorf("written twice: %v", err)
	}
}

// TestWatchPace checks that while the store denies, a watch retries ever more slowly, and says why.
func TestWatchPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(clock.Boottime()).Store()
		s.On(memory.List, memory.Reject(lock.ErrDenied))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		start := time.Now()
		var at []time.Duration
		err := s.Watch(ctx, func(e lock.Event) {
			switch e.Kind {
			case lock.Listing:
				at = append(at, time.Since(start))
			case lock.Broken:
				if !errors.Is(e.Err, lock.ErrDenied) {
					t.Errorf("broken by %v", e.Err)
				}
			default:
				t.Errorf("got %v", e.Kind)
			}
		})
		if err != nil {
			t.Error(err)
		}
		ms := time.Millisecond
		want := []time.Duration{0, 0, 100 * ms, 300 * ms, 700 * ms, 1500 * ms, 3100 * ms, 6300 * ms, 11300 * ms, 16300 * ms}
		if !slices.Equal(at, want) {
			t.Errorf("listed at %v, want %v", at, want)
		}
	})
}

// TestStall checks that a stalled stream later shows what happened meanwhile, in order.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		realm := memory.New(clock.Boottime())
		s := realm.Store()
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var events []lock.Event
		shown := func() []lock.Event {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(events)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.Watch(ctx, func(e lock.Event) {
				mu.Lock()
				defer mu.Unlock()
				events = append(events, e)
			})
		}()
		synctest.Wait()
		s.On(memory.Deliver, memory.Delay(time.Minute))
		v1, _ := realm.Write(name, held(0), record.Version{})
		v2, _ := realm.Write(name, held(1), v1)
		realm.Progress()
		synctest.Wait()
		if early := shown(); len(early) != 3 {
			t.Errorf("a stalled stream shows %v", early)
		}
		s.Heal()
		time.Sleep(time.Minute)
		synctest.Wait()
		realm.Progress()
		synctest.Wait()
		cancel()
		<-done
		got := shown()
		var kinds []lock.EventKind
		for _, e := range got {
			kinds = append(kinds, e.Kind)
		}
		want := []lock.EventKind{lock.Listing, lock.Listed, lock.Resumed, lock.Changed, lock.Changed, lock.Progressed, lock.Progressed}
		if !slices.Equal(kinds, want) {
			t.Fatalf("got %v, want %v", kinds, want)
		}
		if got[3].Entry.Version != v1 || got[4].Entry.Version != v2 || got[5].Revision != v2.Revision {
			t.Errorf("got %v", got[3:])
		}
	})
}

func TestSince(t *testing.T) {
	realm := memory.New(clock.Boottime())
	v1, _ := realm.Write("a", held(0), record.Version{})
	v2, _ := realm.Write("b", held(0), record.Version{})
	realm.Delete("a")
	changes, at, err := realm.Since(v1.Revision)
	if err != nil || at != realm.Revision() || len(changes) != 2 || changes[0].Version != v2 || !changes[1].Absent() {
		t.Errorf("got %v at %d: %v", changes, at, err)
	}
	realm.Compact()
	if _, _, err := realm.Since(v1.Revision); !errors.Is(err, follow.ErrExpired) {
		t.Errorf("after a compaction: %v", err)
	}
	if changes, _, err := realm.Since(realm.Revision()); err != nil || len(changes) > 0 {
		t.Errorf("from the present: %v, %v", changes, err)
	}
}

// TestHistoryLimit checks that a realm remembers a bounded number of changes, and says so when it has
// forgotten.
func TestHistoryLimit(t *testing.T) {
	realm := memory.New(clock.Boottime())
	start := realm.Revision()
	v, _ := realm.Write(name, held(0), record.Version{})
	for i := range memory.HistoryLimit {
		v, _ = realm.Write(name, held(i+1), v)
	}
	if _, _, err := realm.Since(start); !errors.Is(err, follow.ErrExpired) {
		t.Errorf("the beginning is still known: %v", err)
	}
	changes, _, err := realm.Since(v.Revision - 100)
	if err != nil || len(changes) != 100 || changes[99].Version != v {
		t.Errorf("the end is not known: %d changes, %v", len(changes), err)
	}
}

func TestNamesAreChecked(t *testing.T) {
	realm := memory.New(clock.Boottime())
	if _, err := realm.Write("No Name", held(0), record.Version{}); !errors.Is(err, lock.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
