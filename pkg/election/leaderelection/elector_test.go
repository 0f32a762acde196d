package leaderelection_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/primacy-dev/primacy/pkg/election/leaderelection"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
)

const patience = 30 * time.Second

// lease is a Lease of a test.
type lease struct {
	t         *testing.T
	namespace string
	client    *coordinationv1client.CoordinationV1Client
}

func newLease(t *testing.T) *lease {
	t.Helper()
	cluster := devcluster.Start(t)
	client, err := coordinationv1client.NewForConfig(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	return &lease{t, cluster.Namespace(t), client}
}

// holder is who holds the lease.
func (l *lease) holder() string {
	l.t.Helper()
	got, err := l.client.Leases(l.namespace).Get(context.Background(), "a", metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return *got.Spec.HolderIdentity
}

func (l *lease) config(id string, callbacks leaderelection.LeaderCallbacks) leaderelection.LeaderElectionConfig {
	return leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "a"}, Client: l.client, Labels: map[string]string{"team": "x"},
			LockConfig: resourcelock.ResourceLockConfig{Identity: id},
		},
		// No test here waits for a lease, and a busy machine may stand still for seconds.
		LeaseDuration: 45 * time.Second, RenewDeadline: 35 * time.Second, RetryPeriod: 500 * time.Millisecond, Callbacks: callbacks,
	}
}

// renewed waits until the holder has renewed the lease a few times.
func (l *lease) renewed(times int) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	w, err := l.client.Leases(l.namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=a"})
	if err != nil {
		l.t.Fatal(err)
	}
	defer w.Stop()
	var last time.Time
	for e := range w.ResultChan() {
		got, is := e.Object.(*coordinationv1.Lease)
		if !is || got.Spec.RenewTime == nil {
			l.t.Fatalf("the lease: %v", e.Object)
		}
		if at := got.Spec.RenewTime.Time; at.After(last) {
			last = at
			if times--; times < 0 { // the first event shows the lease as it was
				return
			}
		}
	}
	l.t.Fatalf("%d renewals are missing", times+1)
}

// run runs an elector; the test ends only after it has.
func (l *lease) run(ctx context.Context, c leaderelection.LeaderElectionConfig) (le *leaderelection.LeaderElector, leave func()) {
	l.t.Helper()
	le, err := leaderelection.NewLeaderElector(c)
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { le.Run(ctx) })
	leave = func() { cancel(); running.Wait() }
	l.t.Cleanup(leave)
	return le, leave
}

func wait(t *testing.T, what string, c <-chan string) string {
	t.Helper()
	select {
	case s := <-c:
		return s
	case <-time.After(patience):
		t.Fatalf("%s: nothing happens", what)
		return ""
	}
}

type key struct{}

// TestCallbacksArePaired checks that OnStoppedLeading comes after slow work, that the lock is held until then, and that
// an elector that never led gets none.
func TestCallbacksArePaired(t *testing.T) {
	l := newLease(t)
	started, seen := make(chan string, 9), make(chan string, 9)
	var working atomic.Bool
	var stops atomic.Int32
	const name = "Web_0 of Zürich"
	ctx := context.WithValue(t.Context(), key{}, "carried")
	health := leaderelection.NewLeaderHealthzAdaptor(0)
	first, leave := l.run(ctx, l.config(name, leaderelection.LeaderCallbacks{
		OnStartedLeading: func(ctx context.Context) {
			working.Store(true)
			value, _ := ctx.Value(key{}).(string)
			started <- value
			<-ctx.Done()
			<-time.After(300 * time.Millisecond)
			if h := l.holder(); !strings.Contains(h, "web-0") {
				t.Errorf("the lock is %q while the work stops", h)
			}
			working.Store(false)
		},
		OnStoppedLeading: func() {
			if err := health.Check(nil); err != nil {
				t.Errorf("the check fails during OnStoppedLeading: %v", err)
			}
			if working.Load() {
				t.Error("OnStoppedLeading came before the work's end")
			}
			if h := l.holder(); !strings.Contains(h, "web-0") {
				t.Errorf("the lock is %q during OnStoppedLeading", h)
			}
			stops.Add(1)
		},
	}))
	health.SetLeaderElection(first)
	if got := wait(t, "start", started); got != "carried" {
		t.Errorf("the work's context has the value %q", got)
	}
	if !first.IsLeader() || first.GetLeader() != name || first.Check(time.Second) != nil {
		t.Errorf("leads: %v, leader %q, check: %v", first.IsLeader(), first.GetLeader(), first.Check(time.Second))
	}
	second, secondLeaves := l.run(t.Context(), l.config("b", leaderelection.LeaderCallbacks{
		OnStartedLeading: func(ctx context.Context) { t.Error("two lead"); <-ctx.Done() },
		OnStoppedLeading: func() { t.Error("OnStoppedLeading without a start") },
		OnNewLeader:      func(id string) { seen <- id },
	}))
	if got := wait(t, "leader", seen); got != name || second.GetLeader() != name || second.IsLeader() {
		t.Errorf("OnNewLeader got %q, GetLeader returns %q", got, second.GetLeader())
	}
	secondLeaves()
	leave()
	if h := l.holder(); h != "" {
		t.Errorf("%s holds the lock after Run", h)
	}
	if stops.Load() != 1 || first.IsLeader() || first.Check(0) != nil {
		t.Errorf("%d stops, leads: %v, check: %v", stops.Load(), first.IsLeader(), first.Check(0))
	}
	got, err := l.client.Leases(l.namespace).Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil || got.Labels["team"] != "x" {
		t.Errorf("labels %v, %v", got.Labels, err)
	}
}

// TestWorkElsewhere checks an OnStartedLeading that starts its work elsewhere and returns: the elector leads on, and
// releases the lock before OnStoppedLeading only if ReleaseOnCancel says that no work goes on.
func TestWorkElsewhere(t *testing.T) {
	for name, release := range map[string]func(*leaderelection.LeaderElectionConfig){
		"released": func(c *leaderelection.LeaderElectionConfig) { c.ReleaseOnCancel = true },
		"held":     func(*leaderelection.LeaderElectionConfig) {},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLease(t)
			started, stopped := make(chan string, 9), make(chan string, 9)
			c := l.config("a", leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { started <- "" },
				OnStoppedLeading: func() { stopped <- l.holder() },
			})
			release(&c)
			le, leave := l.run(t.Context(), c)
			wait(t, "start", started)
			l.renewed(4)
			if !le.IsLeader() {
				t.Error("it does not lead any more")
			}
			leave()
			if at := wait(t, "stop", stopped); (at == "") != (name == "released") {
				t.Errorf("at OnStoppedLeading the holder is %q", at)
			}
			if h := l.holder(); h != "" {
				t.Errorf("%s holds the lock after Run", h)
			}
		})
	}
}

// another is a lock that is no LeaseLock.
type another struct{ resourcelock.Interface }

func TestConfigurationIsChecked(t *testing.T) {
	l := newLease(t)
	none := leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}}
	for want, bend := range map[string]func(*leaderelection.LeaderElectionConfig){
		"leaseDuration must be greater":  func(c *leaderelection.LeaderElectionConfig) { c.LeaseDuration = c.RenewDeadline },
		"renewDeadline must be greater":  func(c *leaderelection.LeaderElectionConfig) { c.RetryPeriod = c.RenewDeadline * 19 / 20 },
		"retryPeriod must be greater":    func(c *leaderelection.LeaderElectionConfig) { c.RetryPeriod = 0 },
		"OnStartedLeading must not":      func(c *leaderelection.LeaderElectionConfig) { c.Callbacks.OnStartedLeading = nil },
		"OnStoppedLeading must not":      func(c *leaderelection.LeaderElectionConfig) { c.Callbacks.OnStoppedLeading = nil },
		"lock must not be nil":           func(c *leaderelection.LeaderElectionConfig) { c.Lock = nil },
		"identity is empty":              func(c *leaderelection.LeaderElectionConfig) { c.Lock = &resourcelock.LeaseLock{} },
		"only a *resourcelock.LeaseLock": func(c *leaderelection.LeaderElectionConfig) { c.Lock = another{c.Lock} },
		"coordinated elections":          func(c *leaderelection.LeaderElectionConfig) { c.Coordinated = true },
		"no REST connection":             func(c *leaderelection.LeaderElectionConfig) { c.Lock.(*resourcelock.LeaseLock).Client = nil },
		"lock \"A\" must be":             func(c *leaderelection.LeaderElectionConfig) { c.Lock.(*resourcelock.LeaseLock).LeaseMeta.Name = "A" },
	} {
		c := l.config("a", none)
		bend(&c)
		if _, err := leaderelection.NewLeaderElector(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestCandidatesAreRefused checks that a program with a lease candidate learns at once that it will not be elected.
func TestCandidatesAreRefused(t *testing.T) {
	candidate, synced, err := leaderelection.NewCandidate(nil, "kube-system", "a", "b", "1.37.2", "1.37.0", coordinationv1.OldestEmulationVersion)
	if candidate != nil || synced != nil || err == nil || !strings.Contains(err.Error(), "CoordinatedLeaderElection") {
		t.Errorf("%v, %v, error %v", candidate, synced, err)
	}
	(&leaderelection.LeaseCandidate{}).Run(t.Context())
}
