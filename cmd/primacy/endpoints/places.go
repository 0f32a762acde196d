package endpoints

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// turnListener accepts connections whose data are taken up in turns. It accepts all. If too many are open, it closes some for which no work
// has begun yet: they wait for their request, for a review or for a turn.
type turnListener struct {
	net.Listener
	turns *turns
	most  int    // connections at a time
	files uint64 // that this process may open; zero if that is not known
	// pushed counts the connections that others have pushed out; Accept owns it.
	pushed int

	mu       sync.Mutex
	clients  map[netip.Prefix]*client // those with open connections
	known    map[netip.Prefix]*client // those that were served last, so that who asks seldom has an early place
	open     int
	waits    int // of those that are open, those for which no work has begun
	accepted uint64
	requests uint64
	due      time.Time // when a client may next push out a connection of its own
	others   uint64    // the most files that were open beside connections, as far as we saw
}

func listenInTurns(l net.Listener, t *turns, most int) *turnListener {
	return &turnListener{Listener: l, turns: t, most: most, clients: map[netip.Prefix]*client{}, known: map[netip.Prefix]*client{}}
}

// restAfter is after how many connections that others push out there is a rest.
const restAfter = 8

func (l *turnListener) Accept() (net.Conn, error) {
	for {
		one, err := l.Listener.Accept()
		if errors.Is(err, syscall.EMFILE) && l.full() {
			continue
		}
		if err != nil {
			return nil, err
		}
		c, evicted := l.add(one)
		for _, old := range evicted {
			_ = old.Close()
			if old.client != c.client {
				l.rest()
			}
		}
		if !slices.Contains(evicted, c) {
			return c, nil
		}
	}
}

// full makes room where this process may open no more files; false if there is nothing to close.
func (l *turnListener) full() bool {
	l.mu.Lock()
	l.others = max(l.others, l.files-min(l.files, uint64(l.open)))
	var evicted []*turnConn
	for len(evicted) < looks {
		old := l.leastMissed(&client{})
		if old == nil {
			break
		}
		l.keep(old)
		evicted = append(evicted, old)
	}
	l.mu.Unlock()
	for _, old := range evicted {
		_ = old.Close()
	}
	return evicted != nil
}

// add adds a connection. If there are too many, it also returns those that have to go; the new one may be among them.
func (l *turnListener) add(one net.Conn) (c *turnConn, evicted []*turnConn) {
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
	open, end := context.WithCancel(context.Background())
	l.accepted++
	c = &turnConn{Conn: one, listener: l, number: l.accepted, from: from, client: its, open: open, end: end}
	c.left = sync.OnceFunc(func() { l.left(c) })
	its.open++
	its.waiting = append(its.waiting, c)
	l.open++
	l.waits++
	l.see(one)
	mayWait := max(leastWaiting, l.room()-(l.open-l.waits))
	for l.waits > mayWait && len(evicted) < looks {
		old := l.makesWay(c)
		l.keep(old)
		if evicted = append(evicted, old); old == c {
			break
		}
	}
	return c, evicted
}

// see learns from a new connection how many files others have. A new file gets the lowest number that is free, so all below are open.
func (l *turnListener) see(one net.Conn) {
	has, is := one.(syscall.Conn)
	if !is {
		return
	}
	raw, err := has.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(number uintptr) { // it fails only if the connection is closed
		if below, open := uint64(number)+1, uint64(l.open); below > open {
			l.others = max(l.others, below-open)
		}
	})
}

// leastWaiting is how many connections may wait however few files are left, and however many streams are open, so that probes are answered.
const leastWaiting = 16

// room is how many connections may be open. They leave as many files as others have had, and an eighth of all.
func (l *turnListener) room() int {
	if l.files == 0 {
		return l.most
	}
	return min(l.most, int(l.files-min(l.files, l.others+l.files/8))) // #nosec G115 -- a number of files
}

// streams is how many streams may be open now: half of all connections.
func (l *turnListener) streams() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return min(mostStreams, l.room()/2)
}

// looks is how many clients leastMissed looks at: with very many, one more does not matter.
const looks = 8

// ownRest is the least time between two connections with which a client pushes out its own: a connection that is closed at once costs little,
// and one that is served for a moment much.
const ownRest = 500 * time.Microsecond

// makesWay is the connection that goes for a new one, or that new one. Where a client comes on and on, it is the newest one.
func (l *turnListener) makesWay(newest *turnConn) *turnConn {
	old := l.leastMissed(newest.client)
	if old != nil && old.client != newest.client {
		return old
	}
	now := time.Now()
	if now.Before(l.due) {
		return newest
	}
	l.due = now.Add(ownRest)
	return newest.client.waiting[0]
}

// leastMissed is the oldest connection that waits, of the client that has most of them among the given one and some others. Of clients with
// equally many it is the oldest one. It is nil if none of them has too many.
func (l *turnListener) leastMissed(from *client) *turnConn {
	looked := 0
	for _, other := range l.clients { // begins anywhere
		more := l.tooMany(other) - l.tooMany(from)
		if more > 0 || more == 0 && l.tooMany(other) > 0 && other.waiting[0].number < from.waiting[0].number {
			from = other
		}
		if looked++; looked == looks {
			break
		}
	}
	if l.tooMany(from) == 0 {
		return nil
	}
	return from.waiting[0]
}

// excused is how many waiting connections a known client has before any of them has to go.
const excused = 16

// tooMany is how many of a client's waiting connections may have to go.
func (l *turnListener) tooMany(c *client) int {
	if c.lastRequest > 0 {
		return max(0, len(c.waiting)-excused)
	}
	return len(c.waiting)
}

// rest keeps many who connect on and on from taking a processor.
func (l *turnListener) rest() {
	if l.pushed++; l.pushed%restAfter == 0 {
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

// noteRequest notes that a handler has the request of a connection.
func (l *turnListener) noteRequest(c *turnConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	c.client.lastRequest = l.requests
	l.known[c.from] = c.client
	if len(l.known) <= mostKnown {
		return
	}
	oldest := c.from
	for from, one := range l.known {
		if one.lastRequest < l.known[oldest].lastRequest {
			oldest = from
		}
	}
	l.known[oldest].lastRequest = 0
	delete(l.known, oldest)
}

// stays notes that the work for a connection's request begins.
func (l *turnListener) stays(c *turnConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(c)
}

// keep takes a connection off those that wait.
func (l *turnListener) keep(c *turnConn) {
	if i := slices.Index(c.client.waiting, c); i >= 0 {
		c.client.waiting = slices.Delete(c.client.waiting, i, i+1)
		l.waits--
	}
}

// left forgets a connection, and a client whose last one it was.
func (l *turnListener) left(c *turnConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(c)
	l.open--
	if c.client.open--; c.client.open == 0 {
		delete(l.clients, c.from)
	}
}
