package endpoints

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

// What a connection may cost before a handler has its request. Without these bounds a client could keep much memory, or have a processor
// answer it on and on: in TLS 1.3 both sides may ask for new keys (KeyUpdate) as often as they like.
const (
	// mostEarly is how many bytes are read until the first answer: a ClientHello, or a head without TLS. As many again may follow, as the
	// head does with TLS.
	mostEarly = mostHeader + 8<<10
	// mostWrites is more than a handshake and a refusal need.
	mostWrites = 12
	// turnsInARow is how many turns a connection takes in a row: more than one needs that sends all it has at once.
	turnsInARow = 6
)

// turnConn is a connection that has the turn from when data have come until it waits for more, answers, or is served.
type turnConn struct {
	net.Conn
	listener *turnListener
	number   uint64 // in the order in which they were accepted
	from     netip.Prefix
	client   *client
	open     context.Context // ends when the connection is closed
	end      func()          // ends open
	left     func()          // tells the listener that the connection is closed, once

	mu sync.Mutex
	// endTurn ends the present turn; nil without one.
	endTurn func()
	taken   int // turns
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
	of, served := turnOf{client: c.client, again: c.taken > 0, keeps: 0 < c.taken && c.taken < turnsInARow}, c.served
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
		c.endTurn = end
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
	c.end()
	c.yield()
	defer c.left() // once its file is free
	return c.Conn.Close()
}

func (c *turnConn) yield() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.endTurn != nil {
		c.endTurn()
		c.endTurn = nil
	}
}

// serve notes that a handler has the request.
func (c *turnConn) serve() {
	c.mu.Lock()
	c.served = true
	c.mu.Unlock()
	c.listener.noteRequest(c)
	c.yield()
}

// stays notes that work for the request begins: from now on the connection is not closed for others. It may be nil.
func (c *turnConn) stays() {
	if c != nil {
		c.listener.stays(c)
	}
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
