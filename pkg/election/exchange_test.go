package election_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

func put(entries ...election.Entry) election.Change { return election.Change{Put: entries} }

// workers lists who works for an election now.
func workers(j *judge, election string) (members []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, s := range j.spans[election] {
		if s.till.IsZero() {
			members = append(members, s.member)
		}
	}
	return members
}

// TestApplyIsJudgedWhole checks that a change is all or nothing: if any part of it is impossible, nothing
// changes.
func TestApplyIsJudgedWhole(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		m := g.join("m1", "stable", stable)
		after(20 * time.Second)
		entry := func(name, lock string) election.Entry {
			return election.Entry{Spec: election.Spec{Name: name, Lock: lock}, Runner: g.judge.runner("m1", 0)}
		}
		for want, c := range map[string]election.Change{
			"no election c":             {Remove: []string{"c", "a"}},
			"election d is there twice": put(entry("a", ""), entry("d", "x"), entry("d", "y")),
			`election d: lock "b" is already used by election b`: put(entry("a", ""), entry("d", "b")),
			`election a: lock "b" is already used by election b`: put(entry("a", "b")),
			`election "D" must be`:                               {Remove: []string{"a"}, Put: []election.Entry{entry("D", "")}},
			`the prefix "primacy-edge-" is reserved for the`:     put(entry("a", ""), entry("d", "primacy-edge-x-0")),
		} {
			if err := m.manager.Apply(c); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		}
		after(time.Minute)
		for _, e := range []string{"a", "b"} {
			if s := m.status[e]; !s.IsLeader() || s.Cycle() != 1 {
				t.Errorf("%s: leads %v, in term %d; want the first", e, s.IsLeader(), s.Cycle())
			}
		}
		g.end(m)
		if err := m.manager.Apply(put(entry("c", ""))); err == nil || !strings.Contains(err.Error(), "manager has stopped") {
			t.Error(err)
		}
	})
}

// TestApplyExchangesOneByOne checks that no election waits for an unrelated one that is given up at the
// same time.
func TestApplyExchangesOneByOne(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "quick", "slow")
		m := g.join("m1", "stable", stable)
		after(20 * time.Second)
		m.store.On(memory.Put, memory.Named("slow", memory.Hang()))
		if err := m.manager.Apply(put(
			election.Entry{Spec: election.Spec{Name: "slow"}, Runner: g.judge.runner("slow again", 0)},
			election.Entry{Spec: election.Spec{Name: "quick"}, Runner: g.judge.runner("quick again", 0)},
		)); err != nil {
			t.Fatal(err)
		}
		after(5 * time.Second)
		if at := workers(g.judge, "quick"); !slices.Equal(at, []string{"quick again"}) {
			t.Errorf("at work for quick: %v", at)
		}
		m.store.Heal()
		after(time.Minute)
		if at := workers(g.judge, "slow"); !slices.Equal(at, []string{"slow again"}) {
			t.Errorf("at work for slow: %v", at)
		}
		g.end(m)
	})
}

// TestApplyInQuickSuccession checks that a later change removes an election that an earlier one put and
// that has not begun yet.
func TestApplyInQuickSuccession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "a", "b")
		g.stop = time.Second
		m := g.join("m1", "stable", stable)
		after(20 * time.Second)
		name := func(e, lock, as string) election.Entry {
			return election.Entry{Spec: election.Spec{Name: e, Lock: lock}, Runner: g.judge.runner(as, g.stop)}
		}
		for _, c := range []election.Change{
			put(name("a", "", "a2"), name("b", "", "b2")),
			put(name("a", "", "a3"), name("c", "l", "c3")),
			{Remove: []string{"b", "c"}, Put: []election.Entry{name("a", "", "a4"), name("d", "b", "d4")}}, // b releases the lock that d needs
		} {
			if err := m.manager.Apply(c); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.manager.Apply(election.Change{Remove: []string{"b"}}); err == nil {
			t.Error("b was removed twice")
		}
		if _, err := m.manager.Add(election.Spec{Name: "e", Lock: "b"}, nil); err == nil {
			t.Error("the lock of d was given to another")
		}
		after(time.Minute)
		for e, want := range map[string]string{"a": "[a4]", "b": "[]", "c": "[]", "d": "[d4]"} {
			if at := fmt.Sprint(workers(g.judge, e)); at != want {
				t.Errorf("at work for %s: %v, want %s", e, at, want)
			}
		}
		g.end(m)
	})
}

// beyond is a runner whose work beyond its terms takes a while to end.
type beyond struct {
	election.Runner
	begun, ended func()
}

func (b beyond) Background(ctx context.Context) error {
	b.begun()
	<-ctx.Done()
	<-clock.NewTimer(3 * time.Second).C
	b.ended()
	return nil
}

// TestApplyWaitsForWorkBeyondTerms checks that an election is taken up again once all of its former work
// has ended, including work beyond its terms.
func TestApplyWaitsForWorkBeyondTerms(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		m := g.join("m1", "stable", stable)
		atOnce, most := make(chan int, 1), 0
		atOnce <- 0
		count := func(by int) func() {
			return func() {
				n := <-atOnce + by
				most = max(most, n)
				atOnce <- n
			}
		}
		for range 4 {
			err := m.manager.Apply(put(election.Entry{
				Spec: election.Spec{Name: "a"}, Runner: beyond{g.judge.runner("m1", 0), count(1), count(-1)},
			}))
			if err != nil {
				t.Fatal(err)
			}
			after(30 * time.Second)
		}
		if n := <-atOnce; n != 1 || most != 1 {
			t.Errorf("at work beyond terms: %d, at most %d; want one", n, most)
		}
		atOnce <- 1
		g.end(m)
	})
}

// TestWatchOfWhatNeverBegins checks that a watcher of an election that never begins learns that it is
// over: when a change removes it, and when the member ends.
func TestWatchOfWhatNeverBegins(t *testing.T) {
	for what, end := range map[string]func(*member) error{
		"taken out":       func(m *member) error { return m.manager.Remove(context.Background(), "a") },
		"replaced":        func(m *member) error { return m.manager.Apply(put(election.Entry{Spec: election.Spec{Name: "a"}})) },
		"the member ends": func(m *member) error { m.stop(); return <-m.done },
	} {
		inBubble(t, func(t *testing.T) {
			g := newGroup(t)
			m := g.join("m1", "stable", stable)
			nothing := func() {}
			first := election.Entry{Spec: election.Spec{Name: "a"}, Runner: beyond{g.judge.runner("m1", 0), nothing, nothing}}
			if err := m.manager.Apply(put(first)); err != nil {
				t.Fatal(err)
			}
			after(30 * time.Second)
			if err := m.manager.Remove(context.Background(), "a"); err != nil {
				t.Fatal(err)
			}
			waits, err := m.manager.Add(election.Spec{Name: "a"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			told := waits.Watch(ctx)
			if err := end(m); err != nil {
				t.Error(err)
			}
			select {
			case _, open := <-told:
				if open {
					t.Errorf("%s: a transition of an election that never began", what)
				}
			default:
				t.Errorf("%s: the watch goes on", what)
			}
			cancel()
			m.stop()
			after(10 * time.Second)
		})
	}
}

// TestApplyAmongFaults checks that whatever is exchanged, at whatever time and with whatever faults, no
// two members work at once, and in the end every election is led as the last change says.
func TestApplyAmongFaults(t *testing.T) {
	for seed := range uint64(30) {
		inBubble(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			names := []string{"a", "b", "c", "d"}
			g := newGroup(t, names...)
			g.stop = 400 * time.Millisecond
			members := []*member{g.join("m1", "stable", stable), g.join("m2", "stable", stable)}
			after(20 * time.Second)
			has := map[*member]map[string]bool{}
			for _, m := range members {
				has[m] = map[string]bool{"a": true, "b": true, "c": true, "d": true}
			}
			entry := func(m *member, e string) election.Entry {
				s := election.Spec{Name: e}
				if random.IntN(4) == 0 {
					s.Disabled = true
				}
				if e == "d" || s.Disabled { // disabled: every member works
					return election.Entry{Spec: s}
				}
				return election.Entry{Spec: s, Runner: g.judge.runner(m.name, g.stop)}
			}
			for range 25 {
				m := members[random.IntN(2)]
				switch random.IntN(6) {
				case 0:
					m.store.On(memory.Put, memory.Hang())
				case 1:
					m.store.On(memory.Put, memory.Lose())
				case 2:
					m.store.CutWatches()
				default:
					m.store.Heal()
				}
				var c election.Change
				for _, e := range names {
					switch random.IntN(5) {
					case 0:
						c.Put = append(c.Put, entry(m, e))
						has[m][e] = true
					case 1:
						if has[m][e] {
							c.Remove = append(c.Remove, e)
							has[m][e] = false
						}
					}
				}
				if err := m.manager.Apply(c); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				after(time.Duration(random.IntN(8000)) * time.Millisecond)
			}
			for _, m := range members {
				m.store.Heal()
				var c election.Change
				for _, e := range names {
					c.Put = append(c.Put, election.Entry{Spec: election.Spec{Name: e}, Runner: g.judge.runner(m.name, g.stop)})
				}
				if err := m.manager.Apply(c); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
			after(3 * time.Minute)
			for _, e := range names {
				if at := workers(g.judge, e); len(at) != 1 {
					t.Errorf("seed %d: at work for %s in the end: %v", seed, e, at)
				}
			}
			for _, m := range members {
				m.leave(t)
			}
			for _, o := range g.judge.overlaps() {
				t.Errorf("seed %d: %s", seed, o)
			}
		})
	}
}

// TestSettledAwaitsWorkWithoutALock checks that a change is in force only once the work of a disabled election that it
// removes has stopped, also if the member leaves meanwhile.
func TestSettledAwaitsWorkWithoutALock(t *testing.T) {
	for name, leaves := range map[string]bool{"the member stays": false, "the member leaves": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t)
				m1 := g.join("m1", "stable", stable)
				const stopTime = 2 * time.Second
				if _, err := m1.manager.Add(election.Spec{Name: "a", Disabled: true}, g.judge.runner("m1", stopTime)); err != nil {
					t.Fatal(err)
				}
				after(time.Minute)
				began := time.Now()
				if err := m1.manager.Apply(election.Change{Remove: []string{"a"}}); err != nil {
					t.Fatal(err)
				}
				if leaves {
					m1.stop()
				}
				<-m1.manager.Settled()
				if took := time.Since(began); took != stopTime {
					t.Errorf("in force after %v, and the work took %v to stop", took, stopTime)
				}
				m1.leave(t)
				<-m1.manager.Settled()
			})
		})
	}
}

// TestSettledAfterWhatWaitedWasRemoved checks that a change is in force at once when the only election that waited, for the
// Background of an earlier one, is removed.
func TestSettledAfterWhatWaitedWasRemoved(t *testing.T) {
	for name, remove := range map[string]func(*election.Manager) error{
		"by Remove": func(m *election.Manager) error { return m.Remove(context.Background(), "a") },
		"by Apply":  func(m *election.Manager) error { return m.Apply(election.Change{Remove: []string{"a"}}) },
	} {
		for _, disabled := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, disabled %v", name, disabled), func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					g := newGroup(t)
					m := g.join("m1", "stable", stable)
					quit := make(chan struct{})
					spec := election.Spec{Name: "a", Disabled: disabled}
					if _, err := m.manager.Add(spec, stubborn{g.judge.runner("m1", 0), quit}); err != nil {
						t.Fatal(err)
					}
					after(time.Minute)
					if err := m.manager.Remove(t.Context(), "a"); err != nil {
						t.Fatal(err)
					}
					if _, err := m.manager.Add(spec, g.judge.runner("m1", 0)); err != nil {
						t.Fatal(err)
					}
					settled := m.manager.Settled()
					isSettled := func() bool {
						select {
						case <-settled:
							return true
						default:
							return false
						}
					}
					if after(time.Minute); isSettled() {
						t.Error("the change is in force, but the new election waits")
					}
					if err := remove(m.manager); err != nil {
						t.Fatal(err)
					}
					if !isSettled() {
						t.Error("nothing waits any more, but the change is not in force")
					}
					close(quit)
					m.leave(t)
				})
			})
		}
	}
}

// stubborn is a runner whose Background goes on until quit is closed.
type stubborn struct {
	election.Runner

	quit <-chan struct{}
}

func (s stubborn) Background(context.Context) error {
	<-s.quit
	return nil
}
