package election_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// rangeRuns is how many runs TestRangesNeverOverlap makes; PRIMACY_RANGE_RUNS makes it more.
func rangeRuns(t *testing.T) int {
	runs := 40
	if more := os.Getenv("PRIMACY_RANGE_RUNS"); more != "" {
		n, err := strconv.Atoi(more)
		if err != nil {
			t.Fatal(err)
		}
		runs = n
	}
	return runs
}

// TestRangesNeverOverlap checks that with random lifetimes, faults and wall clocks, ranges never overlap,
// whatever the wall clocks say. Where the clocks agree, at most leaseDuration + 2 renewIntervals are left
// uncovered, since one member lives and always reaches the store. A seed decides what happens to the
// members; their own random choices differ each time.
func TestRangesNeverOverlap(t *testing.T) {
	runs := rangeRuns(t)
	began := time.Now()
	longest, terms := time.Duration(0), 0
	for seed := range runs {
		inBubble(t, func(t *testing.T) {
			w := newRangeWorld(t, uint64(seed))
			w.run()
			for _, o := range w.overlaps() {
				t.Errorf("seed %d: %s", seed, o)
			}
			gap := w.gap()
			if w.agree && gap > w.timing.LeaseDuration+2*w.timing.RenewInterval {
				t.Errorf("seed %d: nothing is covered for %v", seed, gap)
			}
			longest, terms = max(longest, gap), terms+len(w.stored)
		})
		if t.Failed() {
			return
		}
	}
	took := time.Since(began)
	t.Logf("%d runs, %d terms, longest gap where clocks agree %v; %.0f runs/s", runs, terms, longest, float64(runs)/took.Seconds())
}

// rangeWorld is one run.
type rangeWorld struct {
	*group
	t      *testing.T
	rnd    *rand.Rand
	timing record.Timing
	agree  bool
	clocks map[string]*atomic.Int64
	alive  []*member
	gone   []*member
	joined int
	// deleted is when the lock was last deleted.
	deleted time.Time
	// stored and told are the ranges by token, from the records and as the members report them.
	stored, told map[record.Token][2]time.Time
}

func newRangeWorld(t *testing.T, seed uint64) *rangeWorld {
	w := &rangeWorld{
		group: newGroup(t, "a"), t: t, rnd: rand.New(rand.NewPCG(seed, 1)), clocks: map[string]*atomic.Int64{},
		agree: seed%2 == 0, stored: map[record.Token][2]time.Time{}, told: map[record.Token][2]time.Time{},
	}
	w.timing, _ = record.Profile("default")
	w.bend = func(c *election.Config, s *election.Spec) {
		ranged(c, s)
		c.Clock = offsetClock{w.clock, w.clocks[c.Host]}
		c.Abort = func(error) {}
	}
	return w
}

func (w *rangeWorld) offset() int64 {
	if w.agree {
		return 0
	}
	return (w.rnd.Int64N(600) - 300) * int64(time.Second)
}

func (w *rangeWorld) joins() *member {
	name := fmt.Sprintf("m%d", w.joined)
	w.joined++
	w.clocks[name] = &atomic.Int64{}
	w.clocks[name].Store(w.offset())
	m := w.join(name, []string{"stable", "canary"}[w.rnd.IntN(2)], stable)
	w.alive = append(w.alive, m)
	return m
}

// run lets members come, fail and go for four minutes. The first one has no faults.
func (w *rangeWorld) run() {
	watch, stopWatch := context.WithCancel(context.Background())
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		_ = w.realm.Store().Watch(watch, func(e lock.Event) { // ends with its context
			if e.Kind == lock.Changed && e.Entry.Name == "a" {
				w.saw(e.Entry.Record)
			}
		})
	}()
	most := 5
	if w.rnd.IntN(100) == 0 {
		most = 100
	}
	w.joins()
	for range 240 {
		w.chance(most)
		after(time.Second)
		for _, m := range w.alive {
			s := m.status["a"]
			if start, end, ok := s.Range(); ok {
				w.tell(s.Token(), start, end)
			}
		}
	}
	for _, m := range slices.Concat(w.alive, w.gone) {
		m.store.Heal()
		m.stop()
	}
	for _, m := range slices.Concat(w.alive, w.gone) {
		<-m.done
	}
	stopWatch()
	<-watching
}

// chance decides what happens to the members in a second.
func (w *rangeWorld) chance(most int) {
	if len(w.alive) < most && w.rnd.IntN(max(1, 200/most)) == 0 {
		w.joins()
	}
	// Deleting a lock that members are waiting for makes them all wait anew; that gap is not our fault.
	if now := time.Now(); w.rnd.IntN(100) == 0 && now.Sub(w.deleted) > time.Minute {
		w.deleted = now
		w.realm.Delete("a")
	}
	for i, m := range w.alive {
		if w.rnd.IntN(40) == 0 {
			w.clocks[m.name].Store(w.offset())
		}
		if i == 0 {
			continue
		}
		switch w.rnd.IntN(80) {
		case 0:
			m.store.On(memory.Put, memory.Hang())
		case 1:
			away(m)
		case 2:
			m.store.On(memory.Put, memory.Lose())
		case 3:
			m.store.On(memory.Put, memory.Delay(time.Duration(w.rnd.Int64N(int64(10*time.Second)))))
		case 4, 5, 6, 7, 8, 9:
			m.store.Heal()
		case 10:
			hangAll(m.store) // as good as dead, for good
			m.store.CutWatches()
			w.alive, w.gone = slices.Delete(slices.Clone(w.alive), i, i+1), append(w.gone, m)
			return
		case 11:
			m.stop()
			w.alive, w.gone = slices.Delete(slices.Clone(w.alive), i, i+1), append(w.gone, m)
			return
		}
	}
}

func (w *rangeWorld) saw(r *record.Record) {
	if r == nil || r.Holder == "" || !r.Bound() {
		return
	}
	was, known := w.stored[r.Token]
	if known && (!was[0].Equal(r.Acquired) || r.Renewed.Add(r.Duration).Before(was[1])) {
		w.t.Errorf("term %d: [%v, %v] became [%v, %v]", r.Token, was[0], was[1], r.Acquired, r.Renewed.Add(r.Duration))
	}
	w.stored[r.Token] = [2]time.Time{r.Acquired, r.Renewed.Add(r.Duration)}
}

func (w *rangeWorld) tell(token record.Token, start, end time.Time) {
	if was, known := w.told[token]; known && was[0].Before(start) {
		start = was[0]
	}
	w.told[token] = [2]time.Time{start, end}
}

// overlaps lists terms whose ranges overlap, and reported ranges that go beyond the stored ones.
func (w *rangeWorld) overlaps() []string {
	var found []string
	for token, told := range w.told {
		if s, known := w.stored[token]; !known || told[0].Before(s[0]) || told[1].After(s[1]) {
			found = append(found, fmt.Sprintf("term %d: told %v, stored %v", token, told, s))
		}
	}
	for a, x := range w.stored {
		if x[1].Before(x[0]) {
			found = append(found, fmt.Sprintf("term %d: %v ends before it starts", a, x))
		}
		for b, y := range w.stored {
			if a < b && !x[1].Before(y[0]) && !y[1].Before(x[0]) {
				found = append(found, fmt.Sprintf("terms %d and %d: %v and %v", a, b, x, y))
			}
		}
	}
	return found
}

// gap is the longest time between two ranges; zero where the clocks disagree.
func (w *rangeWorld) gap() time.Duration {
	if !w.agree {
		return 0
	}
	all := make([][2]time.Time, 0, len(w.stored))
	for _, r := range w.stored {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b [2]time.Time) int { return a[0].Compare(b[0]) })
	longest := time.Duration(0)
	for i := 1; i < len(all); i++ {
		longest = max(longest, all[i][0].Sub(all[i-1][1]))
	}
	return longest
}
