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

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/interop/elector"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func now() record.Instant { return clock.Boottime().Now() }

// arena is where a case is played: Leases of a namespace, each one election, watched by
// the test itself, and the work of all who take part.
type arena struct {
	t       *testing.T
	cluster *devcluster.Cluster
	// space holds the shared Leases, sessions is the realm of our members.
	space, sessions string
	locks           []string
	leases          coordinationv1client.LeaseInterface
	// overlapping says that the case is one in which two work at once.
	overlapping bool

	mu      sync.Mutex
	changed chan struct{}
	spans   map[string][]*span
	seen    map[string][]sight
	views   map[string]string // who holds the lock, by who looks and the lock
}

// sight is a state of a Lease, and when the test's own watch showed it.
type sight struct {
	at    record.Instant
	wall  time.Time
	lease *coordinationv1.Lease
}

// newArena makes one with n elections. At its end the judge is asked.
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
		// The server ends a watch whose reader is too slow; nothing is missed by the next one.
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

// heard takes in what a worker says.
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

// each waits until the condition holds for every election. It is asked whenever anything
// changed, with what is known locked.
func (a *arena) each(what string, cond func(lock string) bool) {
	a.t.Helper()
	a.until(what, func() (missing string) {
		if i := slices.IndexFunc(a.locks, func(l string) bool { return !cond(l) }); i >= 0 {
			return a.locks[i]
		}
		return ""
	})
}

// until waits until no election is missing, as each does.
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

// last is the last span of an election; nil before the first. Call it in conditions only,
// or when nobody works any more.
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

// newest is the last that was seen of a Lease.
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

// foreign is the last renewal of a foreign holder that was seen before the present holder.
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

// since is how long after the instant the last work began.
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

// foreignWait is for how long work must not begin after a foreign holder's last renewal.
func foreignWait() time.Duration { return 2 * max(theirs().LeaseDuration, ours().LeaseDuration) }

// afterForeign is when work of ours may begin: the wait counts from a sight of the last
// renewal, which is later than the time that is written in it.
func (a *arena) afterForeign(lock string) record.Instant {
	return instant(a.foreign(lock).renewed()).Add(foreignWait())
}

// sees waits until p itself has seen that the other holds every lock.
func (a *arena) sees(p, other *party) {
	a.t.Helper()
	a.each(p.who+" sees "+other.who, func(l string) bool { return strings.HasPrefix(a.views[p.who+" "+l], other.who) })
}
