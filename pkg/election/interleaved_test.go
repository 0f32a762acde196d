package election_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// interleaved is a world in which each step of one member may fall between any others. Elections have
// locks in two stores of one realm and timings of their own, and some of them move. Hosts are held up
// between any two steps. Elections, members and stores come and go. The runners' own clocks decide whether
// two worked at once.
type interleaved struct {
	*group
	random  *rand.Rand
	mu      sync.Mutex
	wrong   []string
	members []*interleavedMember
	quit    chan struct{}
	// revisions are the members' revisions; one of them is preferred in the end.
	revisions []string
}

func (w *interleaved) revision() string { return w.revisions[w.random.IntN(len(w.revisions))] }

// interleavedMember is a member with its access to both stores.
type interleavedMember struct {
	*member
	clock  *heldClock
	other  byName
	random *rand.Rand
	unsaid map[string]chan error // what the runners have yet to report of their readiness
	kinds  map[string]moving
	away   map[string]bool // elections that it lacks for now
}

func interleave(t *testing.T, seed uint64, noise time.Duration, revisions ...string) *interleaved {
	w := &interleaved{group: newGroup(t), random: rand.New(rand.NewPCG(seed, 7)), quit: make(chan struct{}), revisions: revisions}
	go func() { // not awaited: drivers receive from it all the time
		for n := 0; ; n++ {
			select {
			case <-w.quit:
				return
			case <-w.judge.begun:
			case <-clock.NewTimer(noise/5 + time.Duration(n%7)*noise/3).C:
				w.realm.Edit("noise", hostileEdit(rand.New(rand.NewPCG(seed, uint64(n)))))
			}
		}
	}()
	return w
}

// fail notes an error from any goroutine.
func (w *interleaved) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// join starts a member with the elections in specs. kinds says which locks the member knows of each.
func (w *interleaved) join(name string, kinds map[string]moving, specs func(*interleavedMember) []election.Spec, timing record.Timing) *interleavedMember {
	m := &interleavedMember{
		clock: newHeldClock(w.clock), other: byName{w.realm.Store()}, kinds: kinds,
		random: rand.New(rand.NewPCG(w.random.Uint64(), 3)), unsaid: map[string]chan error{}, away: map[string]bool{},
	}
	w.bend = func(c *election.Config, _ *election.Spec) {
		c.Timing, c.Clock = timing, m.clock
		if !testing.Verbose() {
			c.Log = zap.NewNop()
		}
		c.Abort = func(err error) { w.fail("%s: aborted: %v", name, err) }
	}
	m.member = w.group.join(name, w.revision(), stable)
	for _, s := range specs(m) {
		w.take(m, s)
	}
	w.members = append(w.members, m)
	return m
}

// take makes the member take part in an election.
func (w *interleaved) take(m *interleavedMember, s election.Spec) {
	w.t.Helper()
	says := make(chan error, 64)
	says <- nil
	m.unsaid[s.Name] = says
	status, err := m.manager.Add(s, &readied{w.runner(m, s), says})
	if err != nil {
		w.t.Errorf("%s: %v", m.name, err)
		return
	}
	m.status[s.Name] = status
}

// runner works as its term allows; sometimes it is slow to stop.
func (w *interleaved) runner(m *interleavedMember, s election.Spec) election.Runner {
	random := rand.New(rand.NewPCG(m.random.Uint64(), 5))
	return election.RunnerFunc(func(ctx context.Context, t election.Term) error {
		if deadline, _ := t.Deadline(); w.clock.Now() >= deadline {
			w.fail("%s: %s: term %d begins %v after its deadline", m.name, s.Name, t.Token, w.clock.Now().Sub(deadline))
		}
		grace := s.Timing.StopGrace
		if grace == 0 {
			grace = time.Second
		}
		stop := time.Duration(0)
		if random.IntN(2) == 0 {
			stop = time.Duration(random.Int64N(int64(grace) * 9 / 10))
		}
		return w.judge.runner(m.name, stop).Run(ctx, t)
	})
}

// again gives an election up and takes it up again, unless giving it up takes too long.
func (w *interleaved) again(m *interleavedMember, s election.Spec) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(w.random.IntN(20_000))*time.Millisecond)
	defer cancel()
	if err := m.manager.Remove(ctx, s.Name); errors.Is(err, context.DeadlineExceeded) {
		m.away[s.Name] = true
		return
	}
	m.away[s.Name] = false
	w.take(m, s)
}

// holdUps holds the member's host up now and then, for up to d.
func (m *interleavedMember) holdUps(one int, d time.Duration) {
	random := rand.New(rand.NewPCG(m.random.Uint64(), 9))
	m.clock.on(func() holdUp {
		if random.IntN(one) > 0 {
			return holdUp{}
		}
		return holdUp{time.Duration(random.Int64N(int64(d))), random.IntN(2) == 0}
	})
}

// stores are the member's access to the two kinds of lock.
func (m *interleavedMember) stores() []*memory.Store {
	return []*memory.Store{m.store, m.other.Store}
}

// finish heals everything, expects one leader for each election, and judges.
func (w *interleaved) finish(names []string, specs func(*interleavedMember) []election.Spec, patience time.Duration) {
	w.t.Helper()
	for _, m := range w.members {
		m.clock.on(nil)
		for _, s := range m.stores() {
			s.Heal()
		}
	}
	for _, m := range w.members {
		for _, s := range specs(m) {
			if m.away[s.Name] {
				if err := m.manager.Remove(context.Background(), s.Name); err != nil && m.status[s.Name] == nil {
					w.t.Errorf("%s: %v", m.name, err)
				}
				w.take(m, s)
			}
			m.unsaid[s.Name] <- nil
		}
		m.prefs.values <- record.Prefer(w.revisions[len(w.revisions)-1])
	}
	after(patience)
	for _, e := range names {
		var all []*member
		for _, m := range w.members {
			all = append(all, m.member)
		}
		if l := leaders(all...)[e]; len(l) != 1 {
			w.t.Errorf("in the end %s is led by %v", e, l)
		}
	}
	for _, m := range w.members {
		m.leave(w.t)
	}
	close(w.quit)
	w.verdict()
}

// verdict reports what went wrong, by the runners' own clocks and by what the members say.
func (w *interleaved) verdict() {
	w.t.Helper()
	said := 0
	for _, o := range append(w.judge.overlaps(), w.wrong...) {
		if said++; said <= 5 {
			w.t.Error(o)
		}
	}
	if said > 5 {
		w.t.Errorf("and %d more", said-5)
	}
}

// starve makes all writes fail to the lock by which the member leads an election, until its work should
// stop because it was not renewed. At that moment it holds the host up.
func (w *interleaved) starve(m *interleavedMember, s election.Spec, lock string) {
	for _, store := range m.stores() {
		store.On(memory.Put, memory.Named(lock, memory.Hang()))
	}
	for range 100 {
		v := m.status[s.Name].ValidTerm()
		if v == nil {
			break
		}
		guard := v.Deadline.Add(-s.Timing.StopGrace)
		after(guard.Add(-time.Duration(w.random.IntN(40)) * time.Millisecond).Sub(w.clock.Now()))
		if now := m.status[s.Name].ValidTerm(); now != nil && now.Deadline == v.Deadline {
			// The host learns that the runner has returned before it sees what is due.
			m.clock.once("(*host).run", holdUp{d: time.Duration(50+w.random.IntN(200)) * time.Millisecond, stale: true})
			w.realm.Edit("noise", hostileEdit(w.random))
			after(2 * s.Timing.LeaseDuration)
			break
		}
	}
	for _, store := range m.stores() {
		store.Heal()
	}
}

// trouble makes the member's writes to one lock, or one operation, fail for a while.
func (m *interleavedMember) trouble(locks []string) {
	s := m.stores()[m.random.IntN(2)]
	if m.random.IntN(2) == 0 {
		name := locks[m.random.IntN(len(locks))]
		for _, s := range m.stores() {
			s.On(memory.Put, memory.Named(name, []memory.Hook{
				memory.Hang(), memory.Reject(fmt.Errorf("%w: no", lock.ErrDenied)), memory.Lose(),
			}[m.random.IntN(3)]))
		}
		return
	}
	op := operation(m.random)
	s.On(op, fault(m.random, op))
}
