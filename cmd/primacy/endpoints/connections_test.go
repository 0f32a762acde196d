package endpoints

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// TestServersTakeTurns checks that a Server takes up nothing, with TLS or without, while somebody else has the turn.
func TestServersTakeTurns(t *testing.T) {
	for name, h := range map[string]config.HTTP{
		"plain": {Address: "127.0.0.1:0", Access: config.AccessOpen}, "TLS": {Address: "127.0.0.1:0", Access: config.AccessOpen, TLS: writePair(t, t.TempDir(), 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for headerTime
			s := serve(t, Config{HTTP: h, Log: zap.NewNop(), Elections: nobody{}, Health: counted{new(atomic.Int64)}})
			client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // #nosec G402 -- it asks only whether there is an answer
			defer client.CloseIdleConnections()
			ask := func() error {
				answer, err := client.Get(s.URL() + "/livez")
				if err == nil {
					err = answer.Body.Close()
				}
				return err
			}
			s.turns.longest = 0 // nobody has asked for a turn yet
			end, _ := s.turns.take(t.Context(), turnOf{})
			if err := ask(); err == nil {
				t.Error("there is an answer, although somebody else has the turn")
			}
			end()
			if err := ask(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOneRequestForAConnection checks that of requests that are sent without waiting for answers only the first is answered.
func TestOneRequestForAConnection(t *testing.T) {
	var asked atomic.Int64
	s := serve(t, Config{
		HTTP: config.HTTP{Address: "127.0.0.1:0", Access: config.AccessOpen}, Log: zap.NewNop(), Elections: nobody{},
		Health: counted{&asked},
	})
	for _, path := range []string{"/livez", "/readyz?verbose", "/metrics", "/nothing"} {
		c, err := net.Dial("tcp", s.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, strings.Repeat("GET "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 20)); err != nil {
			t.Fatal(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		answers, err := io.ReadAll(c)
		if n := strings.Count(string(answers), "HTTP/1.1 "); n != 1 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("%s: %d answers, %v", path, n, err)
		}
		_ = c.Close()
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("conditions were asked for %d times; want 2", n)
	}
}

// TestWhoWaitsHoldsNobodyUp checks that probes are answered while the request of a client that sends on and on waits for something else.
func TestWhoWaitsHoldsNobodyUp(t *testing.T) {
	a, r, _, _ := newAuthority()
	a.begun, a.waits = make(chan struct{}, 1), make(chan struct{})
	s := serve(t, Config{
		HTTP: config.HTTP{Address: "127.0.0.1:0", Access: config.AccessToken}, Log: zap.NewNop(), Elections: nobody{}, Health: counted{new(atomic.Int64)}, Reviewer: r,
	})
	defer close(a.waits) // before the Server ends, which waits for its requests
	c, err := net.Dial("tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, strings.Repeat("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer good\r\n\r\n", 200)); err != nil { // more than package http reads at once
		t.Fatal(err)
	}
	<-a.begun
	answer, err := http.Get(s.URL() + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
}

// TestNothingIsRead checks that a Server reads no body, and nothing for longer than a head may take.
func TestNothingIsRead(t *testing.T) {
	s := serve(t, Config{HTTP: config.HTTP{Address: "127.0.0.1:0", Access: config.AccessOpen}, Log: zap.NewNop(), Elections: nobody{}, Health: counted{new(atomic.Int64)}})
	for sends, want := range map[string]string{
		"GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n":                    "HTTP/1.1 400 ",
		"GET /livez HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n": "HTTP/1.1 400 ",
		"GET /livez HTTP/1.1\r\nHost: x\r\nExpect: x\r\nContent-Length: 5\r\n\r\n":       "HTTP/1.1 417 ",
		"OPTIONS * HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n":                     "HTTP/1.1 400 ",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			c, err := net.Dial("tcp", s.listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if _, err := io.WriteString(c, sends); err != nil {
				t.Fatal(err)
			}
			if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			if answer, err := io.ReadAll(c); !strings.HasPrefix(string(answer), want) || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%q: %q, %v", sends, answer, err)
			}
		})
	}
}

// TestConnectionsLeaveFilesForWork checks that clients get at most half of the files that the process may open.
func TestConnectionsLeaveFilesForWork(t *testing.T) {
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	few := before
	few.Cur = 1000
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	got := mayOpen()
	s, listening := Listen(t.Context(), Config{HTTP: config.HTTP{Address: "127.0.0.1:0", Access: config.AccessOpen}, Log: zap.NewNop(), Elections: nobody{}, Health: counted{new(atomic.Int64)}})
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if listening != nil {
		t.Fatal(listening)
	}
	_ = s.listener.Close()
	if got != 1000 || s.listener.files != 1000 || s.listener.most != 500 || s.hub.most() != 250 {
		t.Errorf("of %d files (%d) %d are for connections, and %d of these for streams", got, s.listener.files, s.listener.most, s.hub.most())
	}
}

// TestClientsAreForgotten checks that a Server keeps nothing of clients without connections.
func TestClientsAreForgotten(t *testing.T) {
	s := serve(t, Config{HTTP: config.HTTP{Address: "127.0.0.1:0", Access: config.AccessOpen}, Log: zap.NewNop(), Elections: nobody{}, Health: counted{new(atomic.Int64)}})
	for range 3 {
		answer, err := http.Get(s.URL() + "/livez")
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	l := s.listener
	kept := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.clients)
	}
	for late := time.Now().Add(patience); kept() > 0; {
		if time.Now().After(late) || !clock.Wait(t.Context(), time.Millisecond) {
			t.Fatalf("%d clients are kept", kept())
		}
	}
}

// counted counts how often it is asked.
type counted struct{ asked *atomic.Int64 }

func (c counted) Alive() []election.Condition {
	c.asked.Add(1)
	return nil
}

func (c counted) Ready() []election.Condition { return c.Alive() }

// nobody is a member without elections.
type nobody struct{}

func (nobody) Identity() string             { return "nobody" }
func (nobody) Statuses() []*election.Status { return nil }
func (nobody) Watch(ctx context.Context) <-chan election.ElectionTransition {
	none := make(chan election.ElectionTransition)
	go func() { // ends with ctx
		<-ctx.Done()
		close(none)
	}()
	return none
}
