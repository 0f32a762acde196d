package fence_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// null answers at once, so that the benchmark measures the gate.
type null struct{ resp *http.Response }

func (n null) RoundTrip(*http.Request) (*http.Response, error) { return n.resp, nil }

// lead makes a member that leads an election by the production clock.
func lead(tb testing.TB) *election.Status {
	tb.Helper()
	m, err := election.NewManager(election.Config{
		Group: "edge", Host: "m1", Member: election.Member{Revision: "stable"}, Locks: memory.New(clock.Boottime()).Store(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	began := make(chan struct{})
	status, err := m.Add(election.Spec{Name: "a", Bootstrap: machine.BootstrapImmediate}, election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
		close(began)
		<-ctx.Done()
		return nil
	}))
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Error(err)
		}
	})
	<-began
	return status
}

// following makes the gate of a member that does not lead.
func following(tb testing.TB) *fence.Gate {
	tb.Helper()
	m, err := election.NewManager(election.Config{Group: "edge", Member: election.Member{Revision: "stable"}, Locks: memory.New(clock.Boottime()).Store()})
	if err != nil {
		tb.Fatal(err)
	}
	status, err := m.Add(election.Spec{Name: "a"}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	g, err := fence.New(status)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func BenchmarkClock(b *testing.B) {
	c := clock.Boottime()
	for b.Loop() {
		c.Now()
	}
}

func BenchmarkGate(b *testing.B) {
	g, err := fence.New(lead(b))
	if err != nil {
		b.Fatal(err)
	}
	read := httptest.NewRequest(http.MethodGet, "https://cluster/api/v1/namespaces/x/configmaps/c", nil)
	put := httptest.NewRequest(http.MethodPut, "https://cluster/api/v1/namespaces/x/configmaps/c", nil)
	next := null{&http.Response{StatusCode: http.StatusOK, Body: http.NoBody}}
	send := func(g *fence.Gate, req *http.Request) func(*testing.B) {
		rt := g.RoundTripper(next)
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = rt.RoundTrip(req)
			}
		}
	}
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if g.Check() != nil {
				b.Fatal("not leading")
			}
		}
	})
	b.Run("read passed", send(g, read))
	b.Run("write passed", send(g, put))
	b.Run("write refused", send(following(b), put))
	b.Run("no gate", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = next.RoundTrip(put)
		}
	})
}

// TestAllocations checks that the frequent paths allocate nothing: the check, reads, and refusals, of
// which a member that does not lead may have very many.
func TestAllocations(t *testing.T) {
	g, err := fence.New(lead(t))
	if err != nil {
		t.Fatal(err)
	}
	next := null{&http.Response{StatusCode: http.StatusOK, Body: http.NoBody}}
	get := httptest.NewRequest(http.MethodGet, "https://cluster/api/v1/namespaces/x/pods/p/log", nil)
	put := httptest.NewRequest(http.MethodPut, "https://cluster/api/v1/namespaces/x/pods/p", nil)
	open, shut := g.RoundTripper(next), following(t).RoundTripper(next)
	for name, f := range map[string]func(){
		"check":         func() { _ = g.Check() },
		"read passed":   func() { _, _ = open.RoundTrip(get) },
		"write refused": func() { _, _ = shut.RoundTrip(put) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
