package endpoints

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/config"
)

// TestWhoWaitsForAReviewGivesWay checks that clients whose tokens the API server does not review now keep no place from others.
func TestWhoWaitsForAReviewGivesWay(t *testing.T) {
	a, r, _, _ := newAuthority()
	a.begun, a.waits = make(chan struct{}, 10*mostReviews), make(chan struct{})
	s := serve(t, Config{
		HTTP: config.HTTP{Address: "127.0.0.1:0", Access: config.AccessToken}, Log: zap.NewNop(), Elections: nobody{}, Health: counted{new(atomic.Int64)}, Reviewer: r,
	})
	defer close(a.waits) // before the Server ends, which waits for its reviews
	s.listener.mu.Lock()
	s.listener.most = 20
	s.listener.mu.Unlock()
	for i := range 40 {
		c := from(t, "127.0.0.1", s)
		if _, err := fmt.Fprintf(c, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %d\r\n\r\n", i); err != nil {
			t.Fatal(err)
		}
		if i < 20 { // of the others some have to go at once
			<-a.begun
		}
	}
	for range 30 {
		c := from(t, "127.0.0.2", s)
		if got := asks(c, "/livez"); got != "HTTP/1.1 200 OK" {
			t.Fatalf("another address gets %q", got)
		}
		_ = c.Close()
	}
}

// numbered is a connection whose file has the given number.
type numbered struct {
	addressed
	of file
}

func (n numbered) SyscallConn() (syscall.RawConn, error) { return n.of, nil }

// file is one of which only the number is asked for.
type file struct {
	syscall.RawConn
	number uintptr
}

func (f file) Control(tell func(uintptr)) error { tell(f.number); return nil }

// TestConnectionsGiveFilesBack checks that there are fewer connections where work has more files, also those that it has only now.
func TestConnectionsGiveFilesBack(t *testing.T) {
	l := listenInTurns(nil, connectionTurns(), 128)
	l.files = 256
	open := map[*turnConn]bool{}
	comes := func(i int, number uintptr) {
		address := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}), 1)
		c, evicted := l.add(numbered{addressed{from: address}, file{number: number}})
		open[c] = true
		for _, old := range evicted {
			old.end()
			old.left()
			delete(open, old)
		}
	}
	for i := range 200 {
		comes(i, uintptr(20+min(i, 128)))
	}
	if len(open) != 128 {
		t.Errorf("%d are open where others have 20 files, want half of all", len(open))
	}
	for i := range 40 { // work begins, with 160 files
		comes(i, 255)
	}
	if want := 256 - 32 - 180; len(open) > want || len(open) < leastWaiting {
		t.Errorf("%d are open where others have 180 files, want %d", len(open), want)
	}
	streams := len(open)
	for c := range open { // they stay
		c.stays()
	}
	l.others = 256
	for i := range 40 {
		comes(i, 255)
	}
	if got := len(open) - streams; got != leastWaiting {
		t.Errorf("%d are open beside %d streams, want %d", got, streams, leastWaiting)
	}
	for c := range open {
		c.left()
		delete(open, c)
	}
	for i := range 40 {
		comes(i, 255)
	}
	if len(open) != leastWaiting {
		t.Errorf("%d are open where others have all files, want %d", len(open), leastWaiting)
	}
}

// exhausted is a listener of a process that may open no more files, unless one of its connections was closed since.
type exhausted struct {
	net.Listener
	closed *atomic.Int64
	next   net.Conn
}

func (e exhausted) Accept() (net.Conn, error) {
	if e.closed.Load() == 0 {
		return nil, fmt.Errorf("accept: %w", syscall.EMFILE)
	}
	return e.next, nil
}

// closes counts itself when it is closed.
type closes struct {
	addressed
	closed *atomic.Int64
}

func (c closes) Close() error { c.closed.Add(1); return nil }

// TestNoMoreFiles checks that connections that wait are closed where no more files can be opened, and that nothing is where none waits.
func TestNoMoreFiles(t *testing.T) {
	address := netip.MustParseAddrPort("10.0.0.1:1")
	closed := new(atomic.Int64)
	l := listenInTurns(exhausted{closed: closed, next: addressed{from: address}}, connectionTurns(), 100)
	l.files = 256
	if c, err := l.Accept(); err == nil {
		t.Fatalf("accepted %v", c)
	}
	for range 10 {
		l.add(closes{addressed{from: address}, closed})
	}
	if _, err := l.Accept(); err != nil {
		t.Fatal(err)
	}
	if n := closed.Load(); n != looks || l.others != 256 {
		t.Errorf("%d connections were closed; others have %d files", n, l.others)
	}
}

// TestNoClientTakesAllSlots checks that a client that asks on and on leaves half of the slots to others.
func TestNoClientTakesAllSlots(t *testing.T) {
	s := slots{most: 16, of: map[*client]int{}}
	one, other := &client{}, &client{}
	var got []bool
	for range 9 {
		got = append(got, s.take(one))
	}
	if want := append(slices.Repeat([]bool{true}, 8), false); !slices.Equal(got, want) {
		t.Errorf("one client: %v", got)
	}
	for range 8 {
		if !s.take(other) {
			t.Error("another client is turned away")
		}
	}
	if s.take(&client{}) {
		t.Error("there are more than 16")
	}
	for range 8 {
		s.leave(one)
		s.leave(other)
	}
	if s.taken != 0 || len(s.of) != 0 {
		t.Errorf("%d are taken, by %d", s.taken, len(s.of))
	}
	profile := slots{most: 1, of: map[*client]int{}}
	if !profile.take(one) || profile.take(one) {
		t.Error("of one slot, one must be taken")
	}
}

// TestWorkThatHasBegunStays checks that a connection is not closed for others once its answer or its profile is being made, and that an
// answer costs its client the place in that line, where an answer to a probe costs none.
func TestWorkThatHasBegunStays(t *testing.T) {
	for name, begins := range map[string]func(http.Handler) http.Handler{
		"a slot": atMost(2), "an answer": answerTurns().inTurns, "a probe": connectionTurns().inTurns,
	} {
		c, _ := listenInTurns(nil, connectionTurns(), 20).add(addressed{from: netip.MustParseAddrPort("10.0.0.1:1")})
		place, waits := c.client.turn, -1
		h := begins(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { waits = len(c.client.waiting) }))
		ctx := context.WithValue(t.Context(), connection{}, c)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
		if waits != 0 {
			t.Errorf("%s: the connection may have to go", name)
		}
		if moved := c.client.answer > 0; moved != (name == "an answer") || c.client.turn != place {
			t.Errorf("%s: the client's places are %d and %d", name, c.client.turn, c.client.answer)
		}
	}
}

// TestHeadOfEvents checks that HEAD opens no stream.
func TestHeadOfEvents(t *testing.T) {
	s := serve(t, Config{HTTP: config.HTTP{Address: "127.0.0.1:0", Access: config.AccessOpen}, Log: zap.NewNop(), Elections: nobody{}, Health: counted{new(atomic.Int64)}})
	c := from(t, "127.0.0.1", s)
	if _, err := io.WriteString(c, "HEAD /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(c); err != nil || len(text) == 0 || s.hub.open() != 0 {
		t.Errorf("%q, %v; %d streams are open", text, err, s.hub.open())
	}
}
