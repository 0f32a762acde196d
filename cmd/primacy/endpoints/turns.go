package endpoints

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// turns keep processors free for the elections, however many clients ask: those who have them begin one after the other, and
// rest in between.
type turns struct {
	// due has the instant at which the next turn may begin, while nobody has the turn.
	due chan time.Time
	// A rest is so many times as long as the turn was, but at most mostRest.
	rests    int
	mostRest time.Duration
	// early is how much sooner than due a turn may begin: timers cannot tell shorter times apart.
	early time.Duration
}

const mostRest = time.Second

// answerTurns are for answers that take a while to make. They take a tenth of one processor from the elections, or less. Only
// those that take longer than mostRest/9 take more.
func answerTurns() *turns { return newTurns(9, 0) }

// connectionTurns are for what costs least or cannot wait: handshakes, heads of requests, and answers to probes. They take half of
// one processor, and only one of their goroutines stands between an election's goroutine and its processor.
func connectionTurns() *turns { return newTurns(1, time.Millisecond) }

func newTurns(rests int, early time.Duration) *turns {
	t := &turns{make(chan time.Time, 1), rests, mostRest, early}
	t.due <- time.Time{}
	return t
}

// take waits for a turn; false if ctx is over before. The result ends the turn.
func (t *turns) take(ctx context.Context) (end func(), is bool) {
	var due time.Time
	select {
	case due = <-t.due:
	case <-ctx.Done():
		return nil, false
	}
	if rest := time.Until(due.Add(-t.early)); ctx.Err() != nil || rest > 0 && !clock.Wait(ctx, rest) {
		t.due <- due
		return nil, false
	}
	began := time.Now()
	return func() {
		if due.Before(began) {
			due = began
		}
		took := time.Since(began)
		t.due <- due.Add(took + min(time.Duration(t.rests)*took, t.mostRest))
	}, true
}

// serve has h make its answers in turns, and sends them outside of them.
func (t *turns) serve(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &page{header: http.Header{}, status: http.StatusOK}
		if t.make(p, h, r) {
			p.send(w)
		}
	})
}

// make makes a page; false if the client is gone.
func (t *turns) make(p *page, h http.Handler, r *http.Request) bool {
	end, is := t.take(r.Context())
	if !is {
		return false
	}
	defer end()
	h.ServeHTTP(p, r)
	return true
}

// turnListener accepts connections whose data are taken up in turns.
type turnListener struct {
	net.Listener
	turns *turns
}

func (l turnListener) Accept() (net.Conn, error) {
	one, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	open, closed := context.WithCancel(context.Background())
	return &turnConn{Conn: one, turns: l.turns, open: open, closed: closed}, nil
}

// turnConn is a connection that has the turn from when data have come until it waits for more, answers, or is served.
type turnConn struct {
	net.Conn
	turns  *turns
	open   context.Context // ends when the connection is closed
	closed context.CancelFunc

	mu sync.Mutex
	// end ends the present turn; nil without one.
	end func()
	// served: a handler has the request. From then on package http reads only to see whether the client goes, and nothing of it is
	// used, since a connection has one request.
	served bool
}

func (c *turnConn) Read(p []byte) (int, error) {
	c.yield()
	n, err := c.Conn.Read(p)
	if n == 0 || c.isServed() {
		return n, err
	}
	within, cancel := context.WithTimeout(c.open, headerTime) // a client that waited for longer is gone, or will be
	defer cancel()
	end, is := c.turns.take(within)
	if !is {
		return 0, os.ErrDeadlineExceeded
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.served || c.open.Err() != nil {
		end()
	} else {
		c.end = end
	}
	return n, err
}

func (c *turnConn) Write(p []byte) (int, error) {
	c.yield()
	return c.Conn.Write(p)
}

func (c *turnConn) Close() error {
	c.closed()
	c.yield()
	return c.Conn.Close()
}

func (c *turnConn) yield() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end != nil {
		c.end()
		c.end = nil
	}
}

func (c *turnConn) isServed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.served
}

// serve notes that a handler has the request.
func (c *turnConn) serve() {
	c.mu.Lock()
	c.served = true
	c.mu.Unlock()
	c.yield()
}

// connection is the key of a request's turnConn in its context.
type connection struct{}

func withConnection(ctx context.Context, c net.Conn) context.Context {
	if encrypted, is := c.(*tls.Conn); is {
		c = encrypted.NetConn()
	}
	return context.WithValue(ctx, connection{}, c)
}

// served notes that a handler has the request of ctx.
func served(ctx context.Context) {
	if c, is := ctx.Value(connection{}).(*turnConn); is {
		c.serve()
	}
}
