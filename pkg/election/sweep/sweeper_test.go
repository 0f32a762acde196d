package sweep_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/sweep"
)

// world is a realm with a Sweeper, in a bubble.
type world struct {
	*testing.T
	realm   *memory.Realm
	store   *memory.Store
	sweeper *sweep.Sweeper
	logs    *observer.ObservedLogs
	stop    func()
}

// newWorld starts the Sweeper once begin has stored what there is.
func newWorld(t *testing.T, begin func(*world)) *world {
	c := clocktest.Bubble{}
	core, logs := observer.New(zap.InfoLevel)
	w := &world{T: t, realm: memory.New(c), logs: logs}
	w.store = w.realm.Store()
	w.sweeper = &sweep.Sweeper{Group: "edge", Sessions: w.store, Clock: c, Log: zap.New(core)}
	begin(w)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		w.sweeper.Run(ctx)
		close(done)
	}()
	w.stop = func() {
		cancel()
		<-done
	}
	return w
}

// put stores a record as it is, and returns its version.
func (w *world) put(e lock.Entry) record.Version {
	w.Helper()
	is := w.realm.Read(e.Name)
	r := *e.Record
	if is.Record != nil {
		r.Rest = is.Record.Rest
	}
	v, err := w.realm.Write(e.Name, r, is.Version)
	if err != nil {
		w.Fatal(err)
	}
	return v
}

// there says whether the object is stored.
func (w *world) there(name string) bool { return w.realm.Read(name).Record != nil }

func inBubble(t *testing.T, run func(*testing.T)) {
	t.Helper()
	synctest.Test(t, run)
}

func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

const one = "primacy-edge-a-0"

// TestASessionGoesInTheEnd checks that a session that has ended is removed once it was seen for Keep, and not before; one
// that has only lapsed never is.
func TestASessionGoesInTheEnd(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, func(w *world) {
			w.put(ended(one, "a_00000001", 0)) // it ended in 1970, by its time
			w.put(live("primacy-edge-b-0", "b_00000001", 0))
		})
		defer w.stop()
		after(sweep.Keep - time.Second)
		if !w.there(one) {
			t.Errorf("it was removed before %v were over", sweep.Keep)
		}
		after(2*sweep.Every + time.Second)
		if w.there(one) {
			t.Errorf("it is there %v after its end", sweep.Keep+2*sweep.Every)
		}
		after(48 * time.Hour)
		if !w.there("primacy-edge-b-0") {
			t.Error("a session was removed that had no end")
		}
		if n := w.logs.FilterMessage("removed sessions that ended long ago").Len(); n != 1 || w.logs.Len() != 1 {
			t.Errorf("the log says %v", w.logs.All())
		}
	})
}

// TestALongLeaseIsWaitedFor checks that a session stays for longer than Keep if others may wait by it for longer.
func TestALongLeaseIsWaitedFor(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, func(w *world) {
			e := ended(one, "a_00000001", 0)
			e.Record.Member.LongestLease = 3600
			w.put(e)
		})
		defer w.stop()
		after(2 * time.Hour)
		if !w.there(one) {
			t.Error("it was removed while others may wait for two of its leases")
		}
		after(time.Hour)
		if w.there(one) {
			t.Error("it is never removed")
		}
	})
}

// TestAChangeStartsTheWatchAnew checks that a slot that was used again meanwhile is watched from its next end on.
func TestAChangeStartsTheWatchAnew(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, func(w *world) { w.put(ended(one, "a_00000001", 0)) })
		defer w.stop()
		after(sweep.Keep / 2)
		w.put(live(one, "a_00000002", 0))
		w.put(ended(one, "a_00000002", 0))
		after(sweep.Keep - time.Second)
		if !w.there(one) {
			t.Error("it was removed, though it ended less than Keep ago")
		}
		after(2*sweep.Every + time.Second)
		if w.there(one) {
			t.Error("it is never removed")
		}
	})
}

// TestOnlyWhatWasSeenIsRemoved checks that a member that takes a slot between a look and the removal keeps it.
func TestOnlyWhatWasSeenIsRemoved(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newWorld(t, func(w *world) {
			w.put(ended(one, "a_00000001", 0))
			w.store.On(memory.Remove, func(_ context.Context, _ memory.Call, do func() error) error {
				w.put(live(one, "a_00000002", 0))
				return do()
			})
		})
		defer w.stop()
		after(2 * sweep.Keep)
		if e := w.realm.Read(one); e.Record == nil || e.Record.Holder != "a_00000002" {
			t.Error("the session of a living member was removed")
		}
		if w.logs.Len() != 0 {
			t.Errorf("the log says %v", w.logs.All())
		}
	})
}

// TestALockElsewhereKeepsIt checks that locks of other stores count, and that nothing is removed while they cannot be read.
func TestALockElsewhereKeepsIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		type answer struct {
			locks []lock.Entry
			err   error
		}
		var elsewhere atomic.Pointer[answer]
		w := newWorld(t, func(w *world) {
			w.put(ended(one, "a_00000001", 0))
			elsewhere.Store(&answer{locks: []lock.Entry{locked("m", func(r *record.Record) { r.Holder = "a_00000001" })}})
			w.sweeper.Elsewhere = func(context.Context) ([]lock.Entry, error) {
				a := elsewhere.Load()
				return a.locks, a.err
			}
		})
		defer w.stop()
		after(2 * sweep.Keep)
		if !w.there(one) {
			t.Fatal("it was removed while a lock told of it")
		}
		elsewhere.Store(&answer{err: lock.ErrDenied})
		after(2 * sweep.Keep)
		if !w.there(one) {
			t.Fatal("it was removed though the locks cannot be read")
		}
		elsewhere.Store(&answer{})
		after(2 * sweep.Keep)
		if w.there(one) {
			t.Error("it is never removed")
		}
	})
}

// TestWithoutTheRight checks that a Sweeper that may remove nothing says so once, and goes on once it may.
func TestWithoutTheRight(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var denied atomic.Bool
		denied.Store(true)
		w := newWorld(t, func(w *world) {
			w.put(ended(one, "a_00000001", 0))
			w.store.On(memory.Remove, func(_ context.Context, _ memory.Call, do func() error) error {
				if denied.Load() {
					return lock.ErrDenied
				}
				return do()
			})
		})
		defer w.stop()
		after(10 * time.Hour)
		if said := w.logs.FilterMessage("sessions that ended long ago are not removed"); said.Len() != 1 || !w.there(one) {
			t.Errorf("the log says %v", w.logs.All())
		}
		denied.Store(false)
		after(time.Hour)
		if w.there(one) {
			t.Error("it is never removed")
		}
	})
}

// TestManyRestarts checks that the number of sessions is bounded whatever the number of restarts under new names: members
// come and go, one after the other, beside one that stays and has a Sweeper.
func TestManyRestarts(t *testing.T) {
	const each = 5 * time.Second
	restarts := restarts(t, 200)
	most := func(t *testing.T, removing memory.Hook) int {
		most := 0
		inBubble(t, func(t *testing.T) {
			w := newWorld(t, func(w *world) { w.store.On(memory.Remove, removing) })
			defer w.stop()
			join := func(name string) (leave func()) {
				m, err := election.NewManager(election.Config{Group: "edge", Host: name, Member: election.Member{Revision: "1"}, Locks: w.realm.Store(), Clock: w.sweeper.Clock, Log: zap.NewNop()})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := m.Add(election.Spec{Name: "beats"}, election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
					<-ctx.Done()
					return nil
				})); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(context.Background())
				done := make(chan error)
				go func() { done <- m.Run(ctx) }()
				return func() {
					cancel()
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
			}
			leave := join("stays")
			defer leave()
			for n := range restarts {
				leave := join(fmt.Sprintf("m%d", n))
				after(each)
				leave()
				all, _ := w.realm.List()
				most = max(most, len(all))
			}
		})
		return most
	}
	// Beside the latest ended ones: those that ended between two looks, and until the look that removes these; the
	// living, and a lock.
	bound := sweep.Most + int((2*sweep.Every+sweep.Every/2)/each) + 4
	if n := most(t, nil); n > bound {
		t.Errorf("%d Leases after %d restarts, want at most %d", n, restarts, bound)
	} else {
		t.Logf("%d restarts under new names: at most %d Leases at a time", restarts, n)
	}
	if n := most(t, memory.Reject(lock.ErrDenied)); n < restarts {
		t.Errorf("this shows nothing: %d Leases if nobody may remove any", n)
	}
}
