package fence_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// releases notes on the trail when a release leaves, and whether IsLeader is false by then.
type releases struct {
	lock.Store
	of *party
	// fail makes the first attempt of each release fail, sent or not.
	fail  bool
	tried bool
}

const (
	release   = "release"
	flagUp    = "release with the flag up"
	workBegan = "work began"
	workEnded = "work ended"
)

func (s *releases) Put(ctx context.Context, name string, r record.Record, replaces record.Version) (record.Version, error) {
	if name != "a" || r.Holder != "" || replaces.IsZero() {
		return s.Store.Put(ctx, name, r, replaces)
	}
	what := release
	if s.of.status.IsLeader() || s.of.gate.Check() == nil {
		what = flagUp
	}
	s.of.trail.note(s.of, what)
	if s.tried = s.fail && !s.tried; s.tried {
		return record.Version{}, fmt.Errorf("%w: planted", lock.ErrDenied)
	}
	return s.Store.Put(ctx, name, r, replaces)
}

// TestClosedBeforeRelease moves leadership back and forth on the real API server. It checks that writes
// of the work, and of a goroutine that knows nothing of terms, always end before the release leaves, even
// if the release fails at first.
func TestClosedBeforeRelease(t *testing.T) {
	for _, tt := range []struct {
		name      string
		handovers int
		fail      bool
	}{{"released", 100, false}, {"release fails", 100, true}} {
		t.Run(tt.name, func(t *testing.T) { closedBeforeRelease(t, tt.handovers, tt.fail) })
	}
}

func closedBeforeRelease(t *testing.T, handovers int, fail bool) {
	cluster := devcluster.Start(t)
	namespace := cluster.Namespace(t)
	admin, err := coreclient.NewForConfig(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.ConfigMaps(namespace).Create(t.Context(), configMap("w"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	trail := &trail{}
	began := make(chan string, 16)
	timing, _ := record.Profile(record.DefaultProfile)
	timing.PreemptDelay, timing.MinHold = 0, 0
	timing.RenewInterval = 200 * time.Millisecond // a quarter of it passes before a failed write is tried again
	join := func(name, revision string) *party {
		var p *party
		made := make(chan struct{})
		touch := func(ctx context.Context) error {
			_, err := p.core.ConfigMaps(namespace).Patch(ctx, "w", types.MergePatchType, []byte(`{"data":{"by":"`+name+`"}}`), metav1.PatchOptions{})
			return err
		}
		work := election.RunnerFunc(func(ctx context.Context, term election.Term) error {
			<-made
			trail.note(p, workBegan)
			defer trail.note(p, workEnded)
			began <- name
			for ctx.Err() == nil {
				if err := touch(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, fence.ErrNotLeading) {
					return err
				}
			}
			return nil
		})
		s := &releases{fail: fail}
		p = joinCluster(t, cluster, namespace, name, revision, partyConfig{
			timing: timing, runner: work, trail: trail,
			locks: func(of lock.Store) lock.Store { s.Store = of; return s },
		})
		s.of = p
		close(made)
		// This goroutine is not part of the election's work, and writes all the time.
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			for ctx.Err() == nil {
				if err := touch(context.Background()); err != nil && !errors.Is(err, fence.ErrNotLeading) {
					t.Errorf("%s: %v", name, err)
					return
				}
				select { // a follower's refusals take no time at all
				case <-ctx.Done():
				case <-clock.NewTimer(time.Millisecond).C:
				}
			}
		}()
		t.Cleanup(func() { cancel(); <-stopped })
		return p
	}
	m1 := join("m1", "stable")
	if got := <-began; got != "m1" {
		t.Fatalf("%s leads", got)
	}
	m1.wantRenewed(t, record.RenewalSession)
	m2 := join("m2", "canary")
	for i := range handovers {
		to, want := record.Prefer("canary"), "m2"
		if i%2 == 1 {
			to, want = record.Prefer("stable"), "m1"
		}
		m1.prefs <- to
		m2.prefs <- to
		if got := <-began; got != want {
			t.Fatalf("handover %d: %s leads, want %s", i, got, want)
		}
	}
	m1.stop()
	m2.stop()
	judgeTrail(t, trail.take(), handovers)
}

// judgeTrail checks for each member that work begins, writes, work ends and release come in this order.
func judgeTrail(t *testing.T, events []event, handovers int) {
	t.Helper()
	working, released := map[string]bool{}, map[string]record.Token{}
	n, sent := 0, 0
	for i, e := range events {
		switch e.what {
		case workBegan:
			working[e.member] = true
		case workEnded:
			working[e.member] = false
		case flagUp:
			t.Errorf("event %d: %s releases with its flag up", i, e.member)
		case release:
			if released[e.member] != e.token { // else it is another attempt
				n++
			}
			released[e.member] = e.token
			if working[e.member] {
				t.Errorf("event %d: %s releases during its work", i, e.member)
			}
		default:
			sent++
			if released[e.member] == e.token {
				t.Errorf("event %d: %s %s after its release", i, e.member, e.what)
			}
		}
	}
	if n <= handovers || sent < n {
		t.Errorf("%d releases and %d writes in %d handovers", n, sent, handovers)
	}
	t.Logf("%d releases, %d writes", n, sent)
}
