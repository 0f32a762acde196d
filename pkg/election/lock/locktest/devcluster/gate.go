package devcluster

import (
	"context"
	"net/http"
	"sync"
)

// Gate is in front of a client's connections and breaks watches. Its methods are safe for concurrent
// use.
type Gate struct {
	mu     sync.Mutex
	cuts   map[int]context.CancelFunc // of the open watches
	opened int
	closed chan struct{} // closed while there is no cut
}

// NewGate makes an open gate.
func NewGate() *Gate {
	open := make(chan struct{})
	close(open)
	return &Gate{cuts: map[int]context.CancelFunc{}, closed: open}
}

// Wrap puts the gate in front of connections; rest.Config.Wrap takes it.
func (g *Gate) Wrap(next http.RoundTripper) http.RoundTripper { return &gated{gate: g, next: next} }

// Cut breaks all watches and lets none come back until mend is called.
func (g *Gate) Cut() (mend func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	mended := make(chan struct{})
	g.closed = mended
	for _, cut := range g.cuts {
		cut()
	}
	clear(g.cuts)
	return sync.OnceFunc(func() { close(mended) })
}

// enter waits until the gate is open, and makes a watch's request cancellable.
func (g *Gate) enter(req *http.Request) (*http.Request, func(), error) {
	for {
		g.mu.Lock()
		open := g.closed
		select {
		case <-open:
			ctx, cancel := context.WithCancel(req.Context())
			req = req.Clone(ctx)
			id := g.opened
			g.opened++
			g.cuts[id] = cancel
			g.mu.Unlock()
			return req, cancel, nil
		default:
		}
		g.mu.Unlock()
		select {
		case <-open:
		case <-req.Context().Done():
			return nil, nil, req.Context().Err()
		}
	}
}

type gated struct {
	gate *Gate
	next http.RoundTripper
}

func (r *gated) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Query().Get("watch") != "true" {
		return r.next.RoundTrip(req)
	}
	req, cancel, err := r.gate.enter(req)
	if err != nil {
		return nil, err
	}
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		cancel()
	}
	return resp, err
}

// WrappedRoundTripper lets client-go find the transport beneath.
func (r *gated) WrappedRoundTripper() http.RoundTripper { return r.next }
