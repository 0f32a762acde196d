package election_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/atomic"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// aLease is how long members wait for the session that leaveBehind stores, by a clock that is fast.
const aLease = 15 * time.Second * 1005 / 1000

// handback makes the Handback of an operator.
func handback(g *group, s lock.Store) *election.Handback {
	return &election.Handback{Clock: g.clock, Leases: s, By: "operator"}
}

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
			from, err := handback(g, g.realm.Store()).Release(aMinute(t), "a")
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
		if _, err := handback(g, g.realm.Store()).Release(aMinute(t), "b"); err != nil || g.clock.Now() != at {
			t.Errorf("the second one: %v, after %v", err, g.clock.Now().Sub(at))
		}
		if from, err := handback(g, g.realm.Store()).Release(aMinute(t), "b"); from != "" || err != nil {
			t.Errorf("a free lock: from %q: %v", from, err)
		}
	})
}

// TestHandBackAfterAProof checks that a lock is left alone for a lease after its holder was proved dead, also where the
// slot of the session has forgotten that: with onDeath: lease the work of the dead may go on outside. A session that
// its member ended needs no wait.
func TestHandBackAfterAProof(t *testing.T) {
	end := func(deaths ...election.Death) func(*record.Record) {
		return func(r *record.Record) {
			member := *r.Member
			member.Deaths = deaths
			mark := record.Mark{Transitions: r.Transitions, Beat: r.Mark.Beat + 1, Duration: r.Mark.Duration, Renewal: record.RenewalRecord}
			r.Holder, r.Mark, r.Member = "", &mark, &member
		}
	}
	another := election.Death{Proof: election.ProofParent, Identity: "m1_00000002", By: "parent of m1"}
	for name, c := range map[string]struct {
		ended func(election.Death) func(*record.Record)
		wait  time.Duration
	}{
		"proved":    {func(d election.Death) func(*record.Record) { return end(d) }, aLease},
		"forgotten": {func(election.Death) func(*record.Record) { return end(another, another, another, another) }, aLease},
		"left":      {func(election.Death) func(*record.Record) { return end(another, another, another) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				another.At = g.clock.Wall()
				death := leaveBehind(t, g, election.ProofParent)
				s := g.realm.Read(sessionOfM1)
				death.UID, death.Beat = s.Version.UID, s.Record.Mark.Beat
				another.UID = s.Version.UID
				ended := *s.Record
				c.ended(death)(&ended)
				if _, err := g.realm.Write(sessionOfM1, ended, s.Version); err != nil {
					t.Fatal(err)
				}
				b := g.realm.Read("a")
				if _, err := g.realm.Write("b", *b.Record, record.Version{}); err != nil {
					t.Fatal(err)
				}
				at, by := g.clock.Now(), handback(g, g.realm.Store())
				for _, name := range []string{"a", "b"} { // one wait is for both
					if from, err := by.Release(aMinute(t), name); err != nil || from != death.Identity {
						t.Fatalf("%s: held by %q: %v", name, from, err)
					}
				}
				if took := g.clock.Now().Sub(at); took < c.wait || took > c.wait+2*time.Second {
					t.Errorf("it was released after %v, want %v", took, c.wait)
				}
			})
		})
	}
}

// TestHandBackFromAUsedSlot checks that Release frees the lock of a member that was proved dead a lease after the proof,
// although another member uses the slot of its session and beats there. One wait serves all its locks.
func TestHandBackFromAUsedSlot(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		death := leaveBehind(t, g, election.ProofParent)
		b := g.realm.Read("a")
		if _, err := g.realm.Write("b", *b.Record, record.Version{}); err != nil {
			t.Fatal(err)
		}
		s := g.realm.Read(sessionOfM1)
		death.UID, death.Beat = s.Version.UID, s.Record.Mark.Beat
		r, mark, member := *s.Record, *s.Record.Mark, *s.Record.Member
		r.Holder, r.Mark, r.Member = "m1_00000002", &mark, &member
		mark.Identity, member.Identity, member.Deaths = r.Holder, r.Holder, []election.Death{death}
		if _, err := g.realm.Write(sessionOfM1, r, s.Version); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { // ends with ctx
			for clock.Wait(ctx, time.Second) {
				beats(t, g)
			}
		}()
		at, by := g.clock.Now(), handback(g, g.realm.Store())
		for _, name := range []string{"a", "b"} {
			if from, err := by.Release(aMinute(t), name); err != nil || from != death.Identity {
				t.Errorf("%s: held by %q: %v", name, from, err)
			}
		}
		if took := g.clock.Now().Sub(at); took < aLease || took > aLease+2*time.Second {
			t.Errorf("they were released after %v", took)
		}
	})
}

// TestHandBackFromARobbedMember checks that Release waits where the slot shows another member than the lock's holder, or
// the end of another: a stranger may have put that back over the session of the holder, which may be at work for another
// lease. One wait serves all its locks. What ends the wait is the holder's own end, and what ends the try is its beat.
func TestHandBackFromARobbedMember(t *testing.T) {
	// slotOf has the slot show the member m1_0000000n, or its end.
	slotOf := func(t *testing.T, g *group, holder, member string) {
		t.Helper()
		s := g.realm.Read(sessionOfM1)
		r, mark, about := *s.Record, *s.Record.Mark, *s.Record.Member
		mark.Beat++
		mark.Identity, about.Identity = holder, member
		r.Holder, r.Mark, r.Member = holder, &mark, &about
		if _, err := g.realm.Write(sessionOfM1, r, s.Version); err != nil {
			t.Fatal(err)
		}
	}
	const own, other = "m1_00000001", "m1_00000000"
	for name, c := range map[string]struct {
		shows string // the holder that the slot shows, of the session of another
		then  func(*testing.T, *group)
		wait  time.Duration
		lives bool
	}{
		"a session":                   {shows: other, wait: aLease},
		"an end":                      {shows: "", wait: aLease},
		"a session, then the own end": {other, func(t *testing.T, g *group) { slotOf(t, g, "", own) }, aLease / 2, false},
		"a session, then a beat":      {other, func(t *testing.T, g *group) { slotOf(t, g, own, own) }, aLease / 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				leaveBehind(t, g)
				b := g.realm.Read("a")
				if _, err := g.realm.Write("b", *b.Record, record.Version{}); err != nil {
					t.Fatal(err)
				}
				slotOf(t, g, c.shows, other)
				at, done := g.clock.Now(), make(chan error, 1)
				go func() {
					by := handback(g, g.realm.Store())
					_, err := by.Release(aMinute(t), "a")
					if err == nil {
						_, err = by.Release(aMinute(t), "b")
					}
					done <- err
				}()
				after(aLease / 2)
				if c.then != nil {
					c.then(t, g)
				}
				err := <-done
				if took := g.clock.Now().Sub(at); took < c.wait || took > c.wait+2*time.Second {
					t.Errorf("it took %v, want %v", took, c.wait)
				}
				if errors.Is(err, election.ErrHolderLives) != c.lives || err != nil && !c.lives {
					t.Errorf("error %v", err)
				}
				if free := g.realm.Read("a").Record.Released(); free == c.lives {
					t.Errorf("lock a is free: %v", free)
				}
			})
		})
	}
}

// TestHandBackAfterALateProof checks that Release counts the lease after a proof from the end of the session, if that end comes
// while Release waits.
func TestHandBackAfterALateProof(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		death := leaveBehind(t, g, election.ProofParent)
		done := make(chan error, 1)
		go func() {
			_, err := handback(g, g.realm.Store()).Release(aMinute(t), "a")
			done <- err
		}()
		after(aLease / 2)
		if err := election.Bury(t.Context(), g.realm.Store(), sessionOfM1, death); err != nil {
			t.Fatal(err)
		}
		after(aLease - time.Millisecond)
		if g.realm.Read("a").Record.Holder == "" {
			t.Error("it was released before a lease was over")
		}
		if err := <-done; err != nil {
			t.Fatal(err)
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
				_, err := handback(g, g.realm.Store()).Release(aMinute(t), "a")
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
		if _, err := handback(g, store).Release(aMinute(t), "a"); !errors.Is(err, election.ErrHolderLives) {
			t.Errorf("a beat before the write: %v", err)
		}
	})
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a")
		leaveBehind(t, g)
		store := &deaf{Store: g.realm.Store()}
		done := make(chan error, 1)
		go func() {
			_, err := handback(g, store).Release(aMinute(t), "a")
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
			if _, got := handback(g, store).Release(aMinute(t), "a"); !errors.Is(got, err) {
				t.Errorf("%v: got %v", err, got)
			}
			if n := int(store.puts.Load()); n == 0 || n > want.most {
				t.Errorf("%v: %d writes, want 1 to %d", err, n, want.most)
			}
		})
	}
}

// TestTriesSayWhatKeptThem checks that what is tried until a context ends says why it failed, also if the context ends during
// the next read.
func TestTriesSayWhatKeptThem(t *testing.T) {
	for name, try := range map[string]func(context.Context, *group, lock.Store, election.Death) error{
		"handback": func(ctx context.Context, g *group, s lock.Store, _ election.Death) error {
			_, err := handback(g, s).Release(ctx, "a")
			return err
		},
		"bury": func(ctx context.Context, _ *group, s lock.Store, d election.Death) error {
			return election.Bury(ctx, s, sessionOfM1, d)
		},
		"bury on word": func(ctx context.Context, g *group, s lock.Store, d election.Death) error {
			d.Proof = election.ProofOperator
			return election.BuryOnWord(ctx, g.clock, s, g.realm.Read(sessionOfM1), d)
		},
		"ask": func(ctx context.Context, _ *group, s lock.Store, d election.Death) error {
			_, err := election.ForcedHandover{Locks: s, Lock: "a", Holder: d.Identity, Token: 1, To: "m2_00000001"}.Ask(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, "a")
				death := leaveBehind(t, g, election.ProofParent, election.ProofOperator)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				refuses := &refusing{Store: g.realm.Store(), err: lock.ErrThrottled}
				err := try(ctx, g, &beforeReads{Store: refuses, do: func() {
					if refuses.puts.Load() > 0 {
						cancel()
					}
				}}, death)
				for _, want := range []error{lock.ErrThrottled, context.Canceled} {
					if !errors.Is(err, want) {
						t.Errorf("got %v, want an error that wraps %v", err, want)
					}
				}
			})
		})
	}
}

// beforeReads is a store that does something before each read.
type beforeReads struct {
	lock.Store
	do func()
}

func (b *beforeReads) Get(ctx context.Context, name string) (lock.Entry, error) {
	b.do()
	return b.Store.Get(ctx, name)
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
