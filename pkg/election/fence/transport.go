package fence

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// RoundTripper puts the gate before a transport: rest.Config.Wrap takes this method, and
// http.Client its result. A nil next is http.DefaultTransport, as it is to http.Client.
//
// A request that does not pass fails with a *NotLeadingError before anything is sent. Until
// the body of its response was read to the end or closed, a write that passes has a context
// that ends when the term begins to stop or at its deadline.
func (g *Gate) RoundTripper(next http.RoundTripper) http.RoundTripper {
	return newTransport(g.enter, next)
}

// WithinDo is RoundTripper for a client that the work of several elections shares. A write passes only with the
// context of a function that Do, or Drain, of any Gate called, and only under the terms of that call.
func WithinDo(next http.RoundTripper) http.RoundTripper {
	return newTransport((*pass).again, next)
}

func newTransport(enter func(before *pass) (*pass, error), next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &transport{enter: enter, next: next}
}

// outside is the refusal of a write that belongs to no term.
var outside = &NotLeadingError{Progress: NotSent}

// again lets a write pass under the terms of p, if they all are valid still.
func (p *pass) again() (*pass, error) {
	if p == nil || len(p.under) == 0 {
		return nil, outside
	}
	now := &pass{under: make([]term, 0, len(p.under))}
	for _, before := range p.under {
		t, ok := before.of.enter(p)
		if !ok {
			return nil, before.of.refusal
		}
		now.under = append(now.under, t)
	}
	return now, nil
}

type transport struct {
	enter func(before *pass) (*pass, error)
	next  http.RoundTripper
	// stamps: writes that pass are stamped.
	stamps bool
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if isRead(req) {
		return t.next.RoundTrip(req)
	}
	before, _ := req.Context().Value(key{}).(*pass)
	if before != nil && before.ungated {
		return t.next.RoundTrip(req)
	}
	p, err := t.enter(before)
	if err != nil {
		return refuse(req, err)
	}
	ctx, leave := p.bind(req.Context())
	if err := notBegun(ctx); err != nil {
		leave()
		return refuse(req, err)
	}
	send := req.WithContext(ctx)
	if t.stamps {
		if send, err = p.stamped(send); err != nil {
			leave()
			return refuse(req, err)
		}
	}
	resp, err := t.next.RoundTrip(send)
	if err != nil {
		err = asCut(ctx, err)
		leave()
		return resp, err
	}
	resp.Body = gatedBody(ctx, resp.Body, leave)
	return resp, nil
}

func refuse(req *http.Request, why error) (*http.Response, error) {
	if req.Body != nil {
		_ = req.Body.Close() // as every RoundTripper must; nothing was read from it
	}
	return nil, why
}

// WrappedRoundTripper lets client-go find the transport beneath.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// CloseIdleConnections lets http.Client close idle connections.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// gatedBody calls leave at the end of a response's body.
func gatedBody(ctx context.Context, of io.ReadCloser, leave func()) io.ReadCloser {
	if of == nil || of == http.NoBody {
		leave()
		return of
	}
	b := body{of: of, ctx: ctx, leave: leave}
	w, upgraded := of.(io.Writer)
	if !upgraded {
		return &b
	}
	// A connection that switched protocols ignores the context.
	stop := context.AfterFunc(ctx, func() { _ = of.Close() })
	b.leave = func() {
		stop()
		leave()
	}
	return &connection{body: b, w: w}
}

// body is a response's body whose errors say why it was cut.
type body struct {
	of    io.ReadCloser
	ctx   context.Context
	leave func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.of.Read(p)
	if errors.Is(err, io.EOF) {
		b.leave()
		return n, err
	}
	return n, asCut(b.ctx, err)
}

func (b *body) Close() error {
	defer b.leave()
	return b.of.Close()
}

// connection is the body of a response that switched protocols.
type connection struct {
	body
	w io.Writer
}

func (c *connection) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	return n, asCut(c.ctx, err)
}
