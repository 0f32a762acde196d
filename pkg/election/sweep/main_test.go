package sweep_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/judge"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

func TestMain(m *testing.M) { devcluster.Main(m) }

// patience is how long a test waits for anything.
const patience = 90 * time.Second

// crew are members on a real API server, and a record of their work by its own clock.
type crew struct {
	*testing.T
	cluster   *devcluster.Cluster
	namespace string
	timing    record.Timing

	mu    sync.Mutex
	spans []judge.Span
	begun chan string // the member whose work begins
	told  chan string // the member whose work is told to stop
}

func newCrew(t *testing.T) *crew {
	cluster := devcluster.Start(t)
	timing, err := record.Profile("fast")
	if err != nil {
		t.Fatal(err)
	}
	timing.PreemptDelay, timing.MinHold = 0, 0
	return &crew{T: t, cluster: cluster, namespace: cluster.Namespace(t), timing: timing, begun: make(chan string, 4096), told: make(chan string, 4096)}
}

// stopTime is how long work takes to stop.
const stopTime = 700 * time.Millisecond

// work notes when it is at work.
func (c *crew) work(member string, takes time.Duration) election.Runner {
	now := clock.Boottime().Now
	return election.RunnerFunc(func(ctx context.Context, term election.Term) error {
		c.mu.Lock()
		n := len(c.spans)
		c.spans = append(c.spans, judge.Span{Member: member, Token: term.Token, Begin: now()})
		c.mu.Unlock()
		c.begun <- member
		<-ctx.Done()
		told := now()
		c.told <- member
		clock.Wait(context.Background(), takes)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.spans[n].Told, c.spans[n].Till = told, now()
		return nil
	})
}

// member is one running manager.
type member struct {
	store *lease.Store
	// leave tells the member to leave, and left waits until it is gone.
	leave func()
	left  func()
}

// join starts a member with the configuration of a client; takes is how long its work takes to stop.
func (c *crew) join(name string, config *rest.Config, takes time.Duration, options ...lease.Option) *member {
	c.Helper()
	client, err := lease.NewClient(config)
	if err != nil {
		c.Fatal(err)
	}
	m := &member{store: lease.In(client, c.namespace, options...)}
	manager, err := election.NewManager(election.Config{
		Group: "edge", Host: name, Member: election.Member{Revision: "1"}, Locks: m.store, Timing: c.timing, Log: zap.NewNop(),
	})
	if err != nil {
		c.Fatal(err)
	}
	if _, err := manager.Add(election.Spec{Name: "beats", Bootstrap: election.BootstrapImmediate}, c.work(name, takes)); err != nil {
		c.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- manager.Run(ctx) }()
	m.leave = cancel
	m.left = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			c.Errorf("%s: %v", name, err)
		}
		client.CloseIdleConnections()
	})
	c.Cleanup(m.left)
	return m
}

// await waits until the channel names the member.
func (c *crew) await(from <-chan string, name string) {
	c.Helper()
	timeout := clock.NewTimer(patience)
	defer timeout.Stop()
	for {
		select {
		case is := <-from:
			if is == name {
				return
			}
		case <-timeout.C:
			c.Fatalf("nothing is heard of %s", name)
		}
	}
}

// joined waits until the session of the host is there.
func (c *crew) joined(m *member, session string) record.Version {
	c.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		e, err := m.store.Get(ctx, session)
		if err != nil {
			c.Fatal(err)
		}
		if e.Record != nil && e.Record.Holder != "" {
			return e.Version
		}
		clock.Wait(ctx, 5*time.Millisecond)
	}
}

func ownedBy(pod *corev1.Pod) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
}
