package resourcelock_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/leaderelection"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/lock/resourcelock"
	"github.com/primacy-dev/primacy/pkg/election/primacytest"
)

// work notes who works, and fails the test if two do.
type work struct {
	t *testing.T

	mu     sync.Mutex
	worker string
	terms  []string
}

func (w *work) begin(who string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.worker != "" {
		w.t.Errorf("%s and %s work at once", w.worker, who)
	}
	w.worker = who
	w.terms = append(w.terms, who)
}

func (w *work) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.worker = ""
}

// elector runs client-go's elector on the lock.
func (w *work) elector(realm *memory.Realm, id string) (leave func()) {
	w.t.Helper()
	l, err := resourcelock.New(realm.Store(), "a", id)
	if err != nil {
		w.t.Fatal(err)
	}
	quit := make(chan struct{})
	le, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: l, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				w.begin(id)
				select {
				case <-ctx.Done():
				case <-quit:
				}
				w.end()
			},
			OnStoppedLeading: func() {},
		},
		ReleaseOnCancel: true,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		le.Run(ctx)
	}()
	return func() {
		close(quit)
		synctest.Wait() // the work ends before the elector, which releases at once
		cancel()
		<-gone
	}
}

// TestElectorsAndAMember runs two electors of client-go and a member of ours on one lock in memory, one after the other.
func TestElectorsAndAMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &work{t: t}
		c := primacytest.Clock()
		realm := memory.New(c)
		first := w.elector(realm, "first")
		time.Sleep(20 * time.Second)
		second := w.elector(realm, "second")
		time.Sleep(20 * time.Second)
		first()
		time.Sleep(20 * time.Second)

		m, err := election.NewManager(election.Config{
			Group: "edge", Host: "m1", Member: election.Member{Revision: "stable"}, Locks: realm.Store(), Clock: c,
		})
		if err != nil {
			t.Fatal(err)
		}
		spec := election.Spec{Name: "a", Foreign: election.Foreigners{Sharing: election.SharedWithClientGo}}
		_, err = m.Add(spec, election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
			w.begin("member")
			<-ctx.Done()
			w.end()
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- m.Run(ctx) }()
		time.Sleep(60 * time.Second)
		second()
		time.Sleep(60 * time.Second)
		third := w.elector(realm, "third")
		time.Sleep(20 * time.Second)
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		time.Sleep(60 * time.Second)
		third()
		w.mu.Lock()
		defer w.mu.Unlock()
		if got := len(w.terms); got != 4 || w.terms[0] != "first" || w.terms[1] != "second" || w.terms[2] != "member" || w.terms[3] != "third" {
			t.Errorf("terms of %v", w.terms)
		}
		if r := realm.Read("a").Record; r.Token == 0 || r.Holder != "" {
			t.Errorf("the lock says %+v: the member's token must stay", r)
		}
	})
}

func TestIdentities(t *testing.T) {
	realm := memory.New(primacytest.Clock())
	for _, id := range []string{"", "web-0_1a2b3c4d"} {
		if _, err := resourcelock.New(realm.Store(), "a", id); err == nil {
			t.Errorf("identity %q is accepted", id)
		}
	}
}
