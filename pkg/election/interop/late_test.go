package interop_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/interop/elector"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestHungAfterALateReply checks the longest time that an elector can be at work after its last renewal: the reply to that
// renewal comes at the last moment, nothing gets through from then on, and the elector tries to release the lock before it ends its work.
// Whoever states the elector's timings, or knows them as the drop-in does, begins after that.
func TestHungAfterALateReply(t *testing.T) {
	t.Parallel()
	a := newArena(t, 1)
	w := &lateReply{by: theirs().RenewDeadline * 19 / 20}
	o := a.options("client-go", nil)
	dies := a.inside("client-go", func(ctx context.Context, say func(elector.Event)) error {
		config := rest.CopyConfig(a.cluster.Config)
		config.Wrap(w.wrap)
		return elector.Run(ctx, config, o, say)
	})
	a.works(dies)
	we := a.member("primacy", nil, func(e *entry) { e.Foreign.Wait = statedWait() })
	a.sees(we, dies)
	w.begin()
	a.works(we)
	l := a.locks[0]
	a.each("its work has ended", func(l string) bool { return a.spans[l][0].till != 0 })
	a.took("its last renewal is answered late, it works on for", func(string) time.Duration {
		return a.spans[l][0].till.Sub(w.stored())
	})
	a.took("its last renewal is answered late, we lead", func(string) time.Duration {
		return a.last(l).from.Sub(w.stored())
	})
}

// TestReleaseThatHangs checks that no work begins beside an elector that gives up. Its writes are stored, but not answered. So it
// releases the lock when its renewDeadline has passed, and works on until the release has timed out as well. Its requests may time out
// sooner, as those of the client that client-go makes for an elector.
func TestReleaseThatHangs(t *testing.T) {
	t.Parallel()
	for name, timeout := range map[string]time.Duration{"by its renewDeadline": 0, "by half of it": theirs().RenewDeadline / 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, 1)
			w := &noReply{}
			o := a.options("client-go", nil)
			hangs := a.inside("client-go", func(ctx context.Context, say func(elector.Event)) error {
				config := rest.CopyConfig(a.cluster.Config)
				config.Timeout = timeout
				config.Wrap(w.wrap)
				return elector.Run(ctx, config, o, say)
			})
			a.works(hangs)
			we := a.member("primacy", nil, nil)
			a.sees(we, hangs)
			w.begun.Store(true)
			a.each("it has released", func(l string) bool { // we may have claimed it since
				return slices.ContainsFunc(a.seen[l], func(s sight) bool { return *s.lease.Spec.HolderIdentity == "" })
			})
			at := now()
			a.works(we)
			l := a.locks[0]
			a.took("its release is not answered, it works on for", func(string) time.Duration { return a.spans[l][0].till.Sub(at) })
			a.took("its release is not answered, we lead", func(string) time.Duration { return a.last(l).from.Sub(at) })
		})
	}
}

// noReply stands between an elector and the API server. Once it has begun, writes are stored, but their replies never come.
type noReply struct {
	next  http.RoundTripper
	begun atomic.Bool
}

func (r *noReply) wrap(next http.RoundTripper) http.RoundTripper {
	r.next = next
	return r
}

// RoundTrip implements http.RoundTripper.
func (r *noReply) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if !r.begun.Load() || req.Method != http.MethodPut || err != nil {
		return resp, err
	}
	<-req.Context().Done()
	return nil, errors.Join(req.Context().Err(), resp.Body.Close())
}

// lateReply stands between an elector and the API server. Once it has begun, the next write is stored and its reply held back; nothing else gets through.
type lateReply struct {
	next http.RoundTripper
	by   time.Duration

	mu    sync.Mutex
	begun bool
	at    record.Instant // when the last write was stored
}

func (r *lateReply) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = true
}

func (r *lateReply) stored() record.Instant {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

func (r *lateReply) wrap(next http.RoundTripper) http.RoundTripper {
	r.next = next
	return r
}

// RoundTrip implements http.RoundTripper.
func (r *lateReply) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	begun, last := r.begun, r.begun && r.at == 0 && req.Method == http.MethodPut
	if last {
		r.at = now()
	}
	r.mu.Unlock()
	switch {
	case !begun:
		return r.next.RoundTrip(req)
	case !last:
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	resp, err := r.next.RoundTrip(req)
	clock.Wait(req.Context(), r.by)
	return resp, err
}
