package endpoints

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// What a connection may cost before a handler has its request. Without these bounds a client could keep much memory, or have a processor
// answer it on and on: in TLS 1.3 both sides may ask for new keys (KeyUpdate) as often as they like.
const (
	// mostEarly is how many bytes are read until the first answer: a ClientHello, or a head without TLS. As many again may follow, as the
	// head does with TLS.
	mostEarly = mostHeader + 8<<10
	// mostWrites is more than a handshake and a refusal need.
	mostWrites = 12
	// keeps is how many turns a connection takes in a row: more than one that sends what it has.
	keeps = 6
)

// turnListener accepts connections whose data are taken up in turns. It accepts all: if there are too many, it closes one whose request no
// handler has, of a client with many.
type turnListener struct {
	net.Listener
	turns *turns
	most  int

	mu       sync.Mutex
	clients  map[netip.Prefix]*client // those with open connections
	known    map[netip.Prefix]*client // those that were served last, so that who asks seldom has an early place
	open     int
	accepted uint64
	requests uint64
	evicted  int       // of others than the new one's client
	due      time.Time // when a client may next push out a connection of its own
}

func listenInTurns(l net.Listener, t *turns, most int) *turnListener {
	return &turnListener{Listener: l, turns: t, most: most, clients: map[netip.Prefix]*client{}, known: map[netip.Prefix]*client{}}
}

func (l *turnListener) Accept() (net.Conn, error) {
	for {
		one, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c, without := l.add(one)
		if without != nil {
			_ = without.Close()
		}
		if c == without {
			continue
		}
		if without != nil && without.client != c.client {
			l.rest()
		}
		return c, nil
	}
}

// add adds a connection. If there are too many, it also returns the one that has to go, which may be the new one.
func (l *turnListener) add(one net.Conn) (c, without *turnConn) {
	from := addressOf(one)
	l.mu.Lock()
	defer l.mu.Unlock()
	its := l.clients[from]
	if its == nil {
		if its = l.known[from]; its == nil {
			its = l.turns.newClient()
		}
		l.clients[from] = its
	}
	open, closed := context.WithCancel(context.Background())
	l.accepted++
	c = &turnConn{Conn: one, listener: l, number: l.accepted, from: from, client: its, open: open}
	c.closed = sync.OnceFunc(func() { closed(); l.left(c) })
	its.open++
	its.unserved = append(its.unserved, c)
	l.open++
	if l.open > l.most {
		without = l.leastMissed(c)
	}
	return c, without
}

// looks is how many clients leastMissed looks at: with very many, one more does not matter.
const looks = 8

// ownRest is the least time between two connections with which a client pushes out its own: a connection that is closed at once costs little,
// and one that is served for a moment much.
const ownRest = 500 * time.Microsecond

// leastMissed is the oldest connection without a handler, of the client that has most of them among some. Of clients with equally many it is
// the oldest one. Where a client comes on and on, it is the newest one.
func (l *turnListener) leastMissed(newest *turnConn) *turnConn {
	from, looked := newest.client, 0
	for _, other := range l.clients { // begins anywhere
		more := l.much(other) - l.much(from)
		if more > 0 || more == 0 && l.much(other) > 0 && other.unserved[0].number < from.unserved[0].number {
			from = other
		}
		if looked++; looked == looks {
			break
		}
	}
	if now := time.Now(); from == newest.client || l.much(from) == 0 {
		from = newest.client
		if now.Before(l.due) {
			return newest
		}
		l.due = now.Add(ownRest)
	}
	return from.unserved[0]
}

// excused is how many connections a known client has before any of them has to go.
const excused = 16

// much is how many connections without a handler a client has, for leastMissed.
func (l *turnListener) much(c *client) int {
	if c.served > 0 {
		return max(0, len(c.unserved)-excused)
	}
	return len(c.unserved)
}

// rest keeps many who connect on and on from taking a processor.
func (l *turnListener) rest() {
	if l.evicted++; l.evicted%looks == 0 {
		clock.Wait(context.Background(), time.Millisecond)
	}
}

// addressOf is who has opened a connection: an address, or the network of an IPv6 address, since whoever has one of those has all. All
// whose address cannot be read are one client.
func addressOf(c net.Conn) netip.Prefix {
	from, _ := netip.ParseAddrPort(c.RemoteAddr().String())
	address, bits := from.Addr().Unmap(), 64
	if address.Is4() {
		bits = 32
	}
	network, _ := address.Prefix(bits)
	return network
}

// mostKnown is how many clients are known: those that probe and scrape a member are few.
const mostKnown = 16

// serves notes that a handler has the request of a connection.
func (l *turnListener) serves(c *turnConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle(c)
	l.requests++
	c.client.served = l.requests
	l.known[c.from] = c.client
	if len(l.known) <= mostKnown {
		return
	}
	oldest := c.from
	for from, one := range l.known {
		if one.served < l.known[oldest].served {
			oldest = from
		}
	}
	l.known[oldest].served = 0
	delete(l.known, oldest)
}

// settle takes a connection off those without a handler.
func (l *turnListener) settle(c *turnConn) {
	c.client.unserved = slices.DeleteFunc(c.client.unserved, func(one *turnConn) bool { return one == c })
}

// left forgets a connection, and a client whose last one it was.
func (l *turnListener) left(c *turnConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle(c)
	l.open--
	if c.client.open--; c.client.open == 0 {
		delete(l.clients, c.from)
	}
}

// turnConn is a connection that has the turn from when data have come until it waits for more, answers, or is served.
type turnConn struct {
	net.Conn
	listener *turnListener
	number   uint64 // in the order in which they were accepted
	from     netip.Prefix
	client   *client
	open     context.Context // ends when the connection is closed
	closed   func()          // ends open; again and again does nothing more

	mu sync.Mutex
	// end ends the present turn; nil without one.
	end   func()
	taken int // turns
	// served: a handler has the request. From then on package http reads only to see whether the client goes: requests have no
	// body, and a connection has one request.
	served bool
	// read and writes are the bytes read, and how often something was written, before that.
	read, writes int
}

func (c *turnConn) Read(p []byte) (int, error) {
	c.yield()
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	of, served := turnOf{c.client, c.taken > 0, 0 < c.taken && c.taken < keeps}, c.served
	if n > 0 {
		c.taken++
	}
	c.read += n
	much := c.read > mostEarly && (c.writes == 0 || c.read > 2*mostEarly)
	c.mu.Unlock()
	if n == 0 || served {
		return n, err
	}
	if much {
		return 0, c.refuse()
	}
	within, cancel := context.WithTimeout(c.open, headerTime) // a client that waited for longer is gone, or will be
	defer cancel()
	end, is := c.listener.turns.take(within, of)
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
	c.mu.Lock()
	early := !c.served
	if early {
		c.writes++
	}
	many := early && c.writes > mostWrites
	c.mu.Unlock()
	if many {
		return 0, c.refuse()
	}
	if early { // a handler sets its own
		_ = c.Conn.SetWriteDeadline(time.Now().Add(headerTime))
	}
	return c.Conn.Write(p)
}

// refuse closes a connection that costs too much.
func (c *turnConn) refuse() error {
	_ = c.Close()
	return net.ErrClosed
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
	c.listener.serves(c)
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
