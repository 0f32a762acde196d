package endpoints

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// turns keep processors free for the elections, however many clients ask: those who have them begin one after the other, and
// rest in between.
type turns struct {
	// A rest is so many times as long as the turn was, but at most mostRest.
	rests int
	// early is how much sooner than due a turn may begin: timers cannot tell shorter times apart.
	early time.Duration
	// longest ends a turn that lasts for longer, as of a probe that waits for a lock of the member; zero for never.
	longest time.Duration
	// fair: the client goes first who has had no turn for longest. Else it is who came first.
	fair bool

	mu    sync.Mutex
	taken bool
	due   time.Time // when the next turn may begin
	// waiting are in the order in which they came.
	waiting []*waiter
	number  uint64 // of the last turn
}

// waiter waits for a turn.
type waiter struct {
	turnOf
	has chan struct{} // is closed when it has the turn
}

// turnOf is for whom a turn is.
type turnOf struct {
	client *client
	// again: its connection has had a turn before. It goes before those of the same client that have not, since what these have cost
	// would be lost.
	again bool
}

// client is an address with open connections.
type client struct {
	connections int
	turn        uint64 // its last turn; turns.mu guards it
}

// before says whether a is next rather than b, which came before. A flood from one address does not keep others waiting.
func (a turnOf) before(b turnOf) bool {
	if a.client == nil || a.client.turn == b.client.turn {
		return a.again && !b.again
	}
	return a.client.turn < b.client.turn
}

const (
	mostRest = time.Second
	// leastTurn is what a turn costs beside what it is for.
	leastTurn = 20 * time.Microsecond
)

// answerTurns are for answers that take a while to make. They take a tenth of one processor from the elections, or less. Only
// those that take longer than mostRest/9 take more.
func answerTurns() *turns { return &turns{rests: 9} }

// connectionTurns are for what costs least or cannot wait: handshakes, heads of requests, and answers to probes. They take half of
// one processor, and only one goroutine of theirs at a time. What a handler then does of others' requests before it waits (to look up a
// token, to turn a client away) is not in turns, but there is no more of it than of heads.
func connectionTurns() *turns {
	return &turns{rests: 1, early: time.Millisecond, longest: 100 * time.Millisecond, fair: true}
}

// take waits for a turn; false if ctx is over before. The result ends the turn.
func (t *turns) take(ctx context.Context, of turnOf) (end func(), is bool) {
	if !t.get(ctx, of) {
		return nil, false
	}
	if rest := time.Until(t.due.Add(-t.early)); ctx.Err() != nil || rest > 0 && !clock.Wait(ctx, rest) {
		t.pass()
		return nil, false
	}
	began := time.Now()
	once := sync.OnceFunc(func() {
		if t.due.Before(began) {
			t.due = began
		}
		took := max(time.Since(began), leastTurn)
		t.due = t.due.Add(took + min(time.Duration(t.rests)*took, mostRest))
		t.pass()
	})
	if t.longest == 0 {
		return once, true
	}
	late := clock.AfterFunc(t.longest, once)
	return func() {
		late.Stop()
		once()
	}, true
}

// newClient is a client whose place is behind all who wait now: one that comes again and again does not go before others each time.
func (t *turns) newClient() *client {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.number++
	return &client{turn: t.number}
}

// get waits until this caller alone has the turn and t.due; false if ctx is over before.
func (t *turns) get(ctx context.Context, of turnOf) bool {
	if !t.fair {
		of = turnOf{}
	}
	t.mu.Lock()
	if !t.taken {
		t.give(of)
		t.mu.Unlock()
		return true
	}
	mine := &waiter{of, make(chan struct{})}
	t.waiting = append(t.waiting, mine)
	t.mu.Unlock()
	select {
	case <-mine.has:
		return true
	case <-ctx.Done():
	}
	t.mu.Lock()
	i := slices.Index(t.waiting, mine)
	if i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
	t.mu.Unlock()
	if i < 0 { // it was ours at the same moment
		t.pass()
	}
	return false
}

// pass gives the turn to who is next.
func (t *turns) pass() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken = false; len(t.waiting) == 0 {
		return
	}
	next := 0
	for i, one := range t.waiting {
		if one.before(t.waiting[next].turnOf) {
			next = i
		}
	}
	t.give(t.waiting[next].turnOf)
	close(t.waiting[next].has)
	t.waiting = slices.Delete(t.waiting, next, next+1)
}

func (t *turns) give(of turnOf) {
	t.taken = true
	if t.number++; of.client != nil {
		of.client.turn = t.number
	}
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
	of := turnOf{}
	if c := connectionOf(r.Context()); c != nil {
		of = turnOf{c.client, true}
	}
	end, is := t.take(r.Context(), of)
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

	mu      sync.Mutex
	clients map[netip.Addr]*client // those with open connections
}

func (l *turnListener) Accept() (net.Conn, error) {
	one, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	from, _ := netip.ParseAddrPort(one.RemoteAddr().String()) // all whose address cannot be read are one client
	l.mu.Lock()
	defer l.mu.Unlock()
	its := l.clients[from.Addr()]
	if its == nil {
		its = l.turns.newClient()
		l.clients[from.Addr()] = its
	}
	its.connections++
	open, closed := context.WithCancel(context.Background())
	return &turnConn{Conn: one, turns: l.turns, client: its, open: open, closed: sync.OnceFunc(func() { closed(); l.left(from.Addr()) })}, nil
}

// left forgets a client whose last connection is closed.
func (l *turnListener) left(from netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	its := l.clients[from]
	if its.connections--; its.connections == 0 {
		delete(l.clients, from)
	}
}

// turnConn is a connection that has the turn from when data have come until it waits for more, answers, or is served.
type turnConn struct {
	net.Conn
	turns  *turns
	client *client
	open   context.Context // ends when the connection is closed
	closed func()          // ends open; again and again does nothing more

	mu sync.Mutex
	// end ends the present turn; nil without one.
	end func()
	// again: it has had a turn.
	again bool
	// served: a handler has the request. From then on package http reads only to see whether the client goes: requests have no
	// body, and a connection has one request.
	served bool
}

func (c *turnConn) Read(p []byte) (int, error) {
	c.yield()
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	of, served := turnOf{c.client, c.again}, c.served
	c.again = c.again || n > 0
	c.mu.Unlock()
	if n == 0 || served {
		return n, err
	}
	within, cancel := context.WithTimeout(c.open, headerTime) // a client that waited for longer is gone, or will be
	defer cancel()
	end, is := c.turns.take(within, of)
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

// connectionOf is the connection of a request; nil in tests without one.
func connectionOf(ctx context.Context) *turnConn {
	c, _ := ctx.Value(connection{}).(*turnConn)
	return c
}
