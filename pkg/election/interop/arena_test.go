package interop_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/interop/elector"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func now() record.Instant { return clock.Boottime().Now() }

// arena is where a case runs: the Leases of a namespace, each of which is one election and
// is watched by the test itself, and the work of all parties.
type arena struct {
	t       *testing.T
	cluster *devcluster.Cluster
	// space holds the shared Leases, sessions is the realm of our members.
	space, sessions string
	locks           []string
	leases          coordinationv1client.LeaseInterface
	// overlapping: two work at once in this case, and the judge must see it.
	overlapping bool

	mu      sync.Mutex
	changed chan struct{}
	spans   map[string][]*span
	seen    map[string][]sight
	views   map[string]string // who holds a lock in a party's view; the key is the party and the lock
}

// sight is a state of a Lease, and when the test's own watch showed it.
type sight struct {
	at    record.Instant
	wall  time.Time
	lease *coordinationv1.Lease
}

// newArena makes an arena with n elections. At the end of the test the judge gives its verdict.
func newArena(t *testing.T, n int) *arena {
	cluster := devcluster.Start(t)
	a := &arena{
		t: t, cluster: cluster, space: cluster.Namespace(t), sessions: cluster.Namespace(t),
		changed: make(chan struct{}), spans: map[string][]*span{}, seen: map[string][]sight{}, views: map[string]string{},
	}
	for i := range n {
		a.locks = append(a.locks, fmt.Sprintf("e%02d", i))
	}
	config := rest.CopyConfig(cluster.Config)
	client, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	a.leases = client.Leases(a.space)
	ctx, cancel := context.WithCancel(context.Background())
	list, err := a.leases.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var watching sync.WaitGroup
	watching.Go(func() {
		// The server ends a watch whose reader is too slow; the next watch misses nothing.
		for at := list.ResourceVersion; ctx.Err() == nil; {
			w, err := a.leases.Watch(ctx, metav1.ListOptions{ResourceVersion: at})
			if err != nil {
				if ctx.Err() == nil {
					t.Errorf("the test's own watch: %v", err)
				}
				return
			}
			for e := range w.ResultChan() {
				l, ok := e.Object.(*coordinationv1.Lease)
				if !ok {
					if ctx.Err() == nil {
						t.Errorf("the test's own watch: %v", e.Object)
					}
					w.Stop()
					return
				}
				at = l.ResourceVersion
				a.change(func() { a.seen[l.Name] = append(a.seen[l.Name], sight{now(), time.Now(), l}) })
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		watching.Wait()
	})
	t.Cleanup(a.verdict)
	return a
}

func (a *arena) change(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	close(a.changed)
	a.changed = make(chan struct{})
}

// heard records an event that a party reports.
func (a *arena) heard(who string, e elector.Event) {
	a.change(func() {
		switch e.Kind {
		case elector.Sees:
			a.views[who+" "+e.Lock] = e.Holder
			return
		case elector.Begin:
			a.spans[e.Lock] = append(a.spans[e.Lock], &span{who: who, from: e.At, token: e.Token})
			return
		}
		for _, s := range a.spans[e.Lock] {
			if s.who == who && s.till == 0 {
				s.till, s.reason = e.At, e.Reason
			}
		}
	})
}

// died ends all work of a process that is gone.
func (a *arena) died(who string, at record.Instant) {
	a.change(func() {
		for _, spans := range a.spans {
			for _, s := range spans {
				if s.who == who && s.till == 0 {
					s.till = at
				}
			}
		}
	})
}

// each waits until cond holds for every election. cond is called whenever anything changed,
// with the arena locked.
func (a *arena) each(what string, cond func(lock string) bool) {
	a.t.Helper()
	a.until(what, func() (missing string) {
		if i := slices.IndexFunc(a.locks, func(l string) bool { return !cond(l) }); i >= 0 {
			return a.locks[i]
		}
		return ""
	})
}

// until waits until cond returns no missing election. cond is called as by each.
func (a *arena) until(what string, cond func() (missing string)) {
	a.t.Helper()
	patience := 60 * time.Second
	if long {
		patience *= 3
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		a.mu.Lock()
		missing := cond()
		changed := a.changed
		a.mu.Unlock()
		if missing == "" {
			return
		}
		select {
		case <-changed:
		case <-timeout.C:
			a.t.Fatalf("%s: not so with %s:\n%s", what, missing, a.story(missing))
		}
	}
}

// story is all that is known of an election.
func (a *arena) story(lock string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var b strings.Builder
	for _, s := range a.spans[lock] {
		fmt.Fprintf(&b, "%v: %v to %v %s\n", s, time.Duration(s.from), time.Duration(s.till), s.reason)
	}
	seen := a.seen[lock]
	for _, s := range seen[max(0, len(seen)-40):] {
		fmt.Fprintf(&b, "seen %v: %q, transitions %d, renewed %s, claim %q\n", time.Duration(s.at), holder(s.lease), *s.lease.Spec.LeaseTransitions, s.renewed().Format("05.000"), s.claim())
	}
	return b.String()
}

// last is the last span of an election; nil before the first. The caller has locked the arena,
// or nobody works any more.
func (a *arena) last(lock string) *span {
	spans := a.spans[lock]
	if len(spans) == 0 {
		return nil
	}
	return spans[len(spans)-1]
}

// at says that p alone is at work.
func (a *arena) at(lock string, p *party) bool {
	for _, s := range a.spans[lock] {
		if s.till == 0 && s.who != p.who {
			return false
		}
	}
	s := a.last(lock)
	return s != nil && s.who == p.who && s.till == 0
}

// works waits until p alone is at work in every election.
func (a *arena) works(p *party) {
	a.t.Helper()
	a.each(p.who+" is at work", func(l string) bool { return a.at(l, p) })
}

// newest is the last state of a Lease that was seen.
func (a *arena) newest(lock string) sight {
	seen := a.seen[lock]
	return seen[len(seen)-1]
}

// claimed is the first sight of a claim; false while there is none.
func (a *arena) claimed(lock string) (sight, bool) {
	i := slices.IndexFunc(a.seen[lock], func(s sight) bool { return s.claim() != "" })
	if i < 0 {
		return sight{}, false
	}
	return a.seen[lock][i], true
}

// foreign is the last renewal by a foreign holder that was seen.
func (a *arena) foreign(lock string) sight {
	for _, s := range slices.Backward(a.seen[lock]) {
		if h := holder(s.lease); h != "" && !record.OurForm(h) {
			return s
		}
	}
	return sight{}
}

func holder(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

func (s sight) renewed() time.Time { return s.lease.Spec.RenewTime.Time }
func (s sight) claim() string      { return s.lease.Annotations["primacy.dev/claim"] }

// instant is a wall-clock time of this machine as an instant.
func instant(wall time.Time) record.Instant { return now().Add(-time.Since(wall)) }

// verdict asks the judge about every election.
func (a *arena) verdict() {
	a.mu.Lock()
	defer a.mu.Unlock()
	terms, longest := 0, time.Duration(0)
	for _, l := range a.locks {
		overlaps, wrong := judge(a.spans[l])
		terms += len(a.spans[l])
		longest = max(longest, slices.Max(append(overlaps, 0)))
		switch {
		case a.overlapping && len(overlaps) == 0 && !a.t.Failed():
			a.t.Errorf("%s: no overlap, so this case would show nothing", l)
		case a.overlapping:
		case len(wrong) > 0:
			a.t.Errorf("%s: %s", l, strings.Join(wrong, "; "))
		}
	}
	a.t.Logf("%d elections, %d spans of work, longest overlap %v", len(a.locks), terms, longest)
}

// took logs how long something took in every election.
func (a *arena) took(what string, of func(lock string) time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []time.Duration
	for _, l := range a.locks {
		all = append(all, of(l).Round(time.Millisecond))
	}
	slices.Sort(all)
	a.t.Logf("%s: n=%d min %v p50 %v max %v", what, len(all), all[0], all[len(all)/2], all[len(all)-1])
}

// since returns, for an election, how long after the given instant its last work began.
func (a *arena) since(at record.Instant) func(string) time.Duration {
	return func(l string) time.Duration { return a.last(l).from.Sub(at) }
}

// notBefore fails the case where the last work began too early.
func (a *arena) notBefore(what string, earliest func(lock string) record.Instant) {
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range a.locks {
		if s := a.last(l); s.from < earliest(l) {
			a.t.Errorf("%s: %v began %v too early: %s", l, s, earliest(l).Sub(s.from), what)
		}
	}
}

// foreignWait is how long after a foreign holder's last renewal our work must not begin.
func foreignWait() time.Duration {
	return election.Foreigners{}.StopsAfter(ours().LeaseDuration, theirs().LeaseDuration)
}

func longerLease() time.Duration { return max(theirs().LeaseDuration, ours().LeaseDuration) }

// afterForeign is when work of ours may begin at the earliest. It counts from the time written
// in the last foreign renewal; members wait from when they saw that renewal, which is later.
func (a *arena) afterForeign(lock string) record.Instant {
	return instant(a.foreign(lock).renewed()).Add(foreignWait())
}

// sees waits until p itself has seen that the other party holds every lock.
func (a *arena) sees(p, other *party) {
	a.t.Helper()
	a.each(p.who+" sees "+other.who, func(l string) bool { return strings.HasPrefix(a.views[p.who+" "+l], other.who) })
}
