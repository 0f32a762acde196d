package endpoints

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// TestSlowReaderHoldsNobodyUp checks that answers are made one after the other, and that a client that does not read its
// own keeps none from others.
func TestSlowReaderHoldsNobodyUp(t *testing.T) {
	var making, most atomic.Int64
	h := answerTurns().inTurns(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		most.Store(max(most.Load(), making.Add(1)))
		defer making.Add(-1)
		w.Header().Set("X-Made", "yes")
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("page"))
	}))
	reads, done := make(chan struct{}), make(chan struct{}, 100)
	var wg sync.WaitGroup
	slow := slowReader{httptest.NewRecorder(), make(chan struct{}), reads}
	wg.Go(func() { h.ServeHTTP(slow, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)) })
	<-slow.sent
	for range 100 {
		wg.Go(func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
			if w.Code != http.StatusTeapot || w.Header().Get("X-Made") != "yes" || w.Body.String() != "page" {
				t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
			}
			done <- struct{}{}
		})
	}
	late := clock.NewTimer(patience)
	defer late.Stop()
	for got := 0; got < 100; got++ { // all get theirs before the slow one does
		select {
		case <-done:
		case <-late.C:
			t.Errorf("%d of 100 have an answer", got)
			got = 100
		}
	}
	close(reads)
	wg.Wait()
	if most.Load() != 1 {
		t.Errorf("%d answers were made at once", most.Load())
	}
}

// TestAnswersLeaveTheProcessorsToTheElections checks that answers are made for a tenth of the time, that a rest is
// never longer than a second, and that a client that has gone keeps no turn.
func TestAnswersLeaveTheProcessorsToTheElections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct{ takes, all time.Duration }{
			{10 * time.Millisecond, 910 * time.Millisecond},
			{time.Minute, 10*time.Minute + 9*time.Second},
		} {
			h := answerTurns().inTurns(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { clock.Wait(t.Context(), tt.takes) }))
			gone, leave := context.WithCancel(t.Context())
			leave()
			began := time.Now()
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() {
					h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
				})
				wg.Go(func() {
					h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, http.MethodGet, "/", nil))
				})
			}
			wg.Wait()
			if took := time.Since(began); took != tt.all {
				t.Errorf("10 answers of %v each took %v, want %v", tt.takes, took, tt.all)
			}
		}
	})
}

// slowReader is a client that accepts its answer once reads is closed.
type slowReader struct {
	*httptest.ResponseRecorder
	sent  chan struct{}
	reads chan struct{}
}

func (s slowReader) Write(part []byte) (int, error) {
	close(s.sent)
	<-s.reads
	return s.ResponseRecorder.Write(part)
}

// TestConnectionsTakeTurns checks that what one connection sends is not taken up while another has the turn, and that it has the
// turn until it waits for more, answers (even a client that reads nothing), is closed, or is served.
func TestConnectionsTakeTurns(t *testing.T) {
	for name, over := range map[string]func(*turnConn){
		"it waits for more": func(c *turnConn) { _, _ = c.Read(make([]byte, 1)) },
		"it answers":        func(c *turnConn) { _, _ = c.Write([]byte("x")) },
		"it is closed":      func(c *turnConn) { _ = c.Close() },
		"it is served":      func(c *turnConn) { c.serve() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shared := connectionTurns()
				shared.longest = 0
				one, other := dialled(t, shared), dialled(t, shared)
				one.sends(t)
				if _, err := one.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				other.sends(t)
				taken := make(chan error, 1)
				go func() { // joined by the receive from taken
					_, err := other.Read(make([]byte, 1))
					taken <- err
				}()
				synctest.Wait()
				select {
				case err := <-taken:
					t.Fatalf("two have the turn (%v)", err)
				default:
				}
				var all sync.WaitGroup
				all.Go(func() { over(one.turnConn) })
				if err := <-taken; err != nil {
					t.Error(err)
				}
				_, _ = one.Close(), other.Close()
				all.Wait()
			})
		})
	}
}

// TestWhoIsServedTakesNoTurn checks that package http, which watches the connection of a request that is served, keeps no turn.
func TestWhoIsServedTakesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := connectionTurns()
		stream, other := dialled(t, shared), dialled(t, shared)
		stream.serve()
		for range 2 {
			stream.sends(t)
			if _, err := stream.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		other.sends(t)
		if _, err := other.Read(make([]byte, 1)); err != nil { // it has the turn
			t.Fatal(err)
		}
		stream.sends(t)
		if _, err := stream.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		_, _ = stream.Close(), other.Close()
	})
}

// TestServedWhileItWaits checks that a read that waits for a turn does not keep it once a handler has the request.
func TestServedWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := connectionTurns()
		shared.longest = 0
		end, _ := shared.take(t.Context(), turnOf{})
		stream := dialled(t, shared)
		stream.sends(t)
		read := make(chan error, 1)
		go func() { // joined by the receive from read
			_, err := stream.Read(make([]byte, 1))
			read <- err
		}()
		synctest.Wait()
		stream.serve()
		end()
		if err := <-read; err != nil {
			t.Error(err)
		}
		within, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if end, is := shared.take(within, turnOf{}); !is {
			t.Error("it keeps the turn")
		} else {
			end()
		}
		_ = stream.Close()
	})
}

// TestWaitForATurnEnds checks that a connection whose turn does not come is given up, and that it takes no turn then.
func TestWaitForATurnEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := connectionTurns()
		shared.longest = 0
		end, _ := shared.take(t.Context(), turnOf{})
		late, closed := dialled(t, shared), dialled(t, shared)
		late.sends(t)
		closed.sends(t)
		var all sync.WaitGroup
		began := time.Now()
		all.Go(func() {
			if n, err := late.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || n != 0 || time.Since(began) != headerTime {
				t.Errorf("after %v: %d, %v", time.Since(began), n, err)
			}
		})
		all.Go(func() {
			if n, err := closed.Read(make([]byte, 1)); err == nil || n != 0 || time.Since(began) != 0 {
				t.Errorf("after %v: %d, %v", time.Since(began), n, err)
			}
		})
		synctest.Wait()
		_ = closed.Close()
		all.Wait()
		end()
		if end, is := shared.take(t.Context(), turnOf{}); !is {
			t.Error("somebody keeps the turn")
		} else {
			end()
		}
		_ = late.Close()
	})
}

// TestWhoIsNext checks that the client is next who has had no turn for longest, of its connections the one that has had a turn, and
// else who came first. Who goes away is left out.
func TestWhoIsNext(t *testing.T) {
	whoIsNext(t, connectionTurns(), []int{3, 2, 4, 0, 5})
	whoIsNext(t, answerTurns(), []int{3, 2, 4, 0, 5})
}

func whoIsNext(t *testing.T, of *turns, want []int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		flood, other := &client{}, &client{}
		end, _ := of.take(t.Context(), turnOf{client: flood})
		var all sync.WaitGroup
		var got []int
		leaving, leave := context.WithCancel(t.Context())
		for i, who := range []turnOf{{client: flood}, {client: flood}, {client: flood, again: true}, {client: other}, {client: other}, {client: flood}} {
			ctx := t.Context()
			if i == 1 {
				ctx = leaving
			}
			all.Go(func() {
				if end, is := of.take(ctx, who); is {
					got = append(got, i) // only who has the turn
					end()
				}
			})
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		end()
		all.Wait()
		if !slices.Equal(got, want) {
			t.Errorf("%v; want %v", got, want)
		}
	})
}

// TestWhoComesAgainIsNotFirst checks that a client that leaves and comes again is behind one that has waited meanwhile.
func TestWhoComesAgainIsNotFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := connectionTurns()
		probe := of.newClient()
		end, _ := of.take(t.Context(), turnOf{client: probe})
		end()
		again := of.newClient()
		end, _ = of.take(t.Context(), turnOf{client: of.newClient()})
		var all sync.WaitGroup
		var got []string
		for name, who := range map[string]*client{"again": again, "probe": probe} {
			all.Go(func() {
				if end, is := of.take(t.Context(), turnOf{client: who}); is {
					got = append(got, name) // only who has the turn
					end()
				}
			})
		}
		synctest.Wait()
		end()
		all.Wait()
		if want := []string{"probe", "again"}; !slices.Equal(got, want) {
			t.Errorf("%v; want %v", got, want)
		}
	})
}

// TestATurnEndsByItself checks that a turn of a connection does not last for ever, and that its end counts once.
func TestATurnEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of, began := connectionTurns(), time.Now()
		stuck, _ := of.take(t.Context(), turnOf{})
		next, is := of.take(t.Context(), turnOf{})
		if took := time.Since(began); !is || took < of.longest || took > 2*of.longest {
			t.Errorf("the next turn begins after %v: %v", took, is)
		}
		stuck()
		waits, cancel := context.WithTimeout(t.Context(), of.longest/2)
		defer cancel()
		if _, is := of.take(waits, turnOf{}); is {
			t.Error("two have the turn")
		}
		next()
	})
}

// TestTurnsOfConnectionsRest checks that turns take half of the time.
func TestTurnsOfConnectionsRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, began := connectionTurns(), time.Now()
		const takes, n = 10 * time.Millisecond, 100
		for range n {
			end, _ := shared.take(t.Context(), turnOf{})
			clock.Wait(t.Context(), takes)
			end()
		}
		if took := time.Since(began); took < (2*n-2)*takes || took > 2*n*takes {
			t.Errorf("%d turns of %v each took %v", n, takes, took)
		}
	})
}

// pair is a connection, and its client.
type pair struct {
	*turnConn
	peer net.Conn
}

func dialled(t *testing.T, of *turns) pair {
	t.Helper()
	peer, member := net.Pipe()
	t.Cleanup(func() { _ = peer.Close() })
	open, end := context.WithCancel(t.Context())
	return pair{&turnConn{Conn: member, listener: listenInTurns(nil, of, 1), client: &client{}, open: open, end: end, left: func() {}}, peer}
}

// TestARequestKeepsItsPlace checks that the later turns of a request do not put its client behind those that had theirs after its first.
func TestARequestKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := connectionTurns()
		probe, other := of.newClient(), of.newClient()
		for _, one := range []turnOf{{client: probe}, {client: other}, {client: probe, again: true, keeps: true}} {
			end, _ := of.take(t.Context(), one)
			end()
		}
		holds, _ := of.take(t.Context(), turnOf{})
		first := make(chan *client, 2)
		var all sync.WaitGroup
		for _, one := range []turnOf{{client: other}, {client: probe, again: true, keeps: true}} {
			all.Go(func() {
				end, _ := of.take(t.Context(), one)
				first <- one.client
				end()
			})
			synctest.Wait()
		}
		holds()
		all.Wait()
		if <-first != probe {
			t.Error("the request stands behind who had a turn after it began")
		}
	})
}

// sends sends a byte, as soon as somebody reads.
func (p pair) sends(t *testing.T) {
	t.Helper()
	go func() { _, _ = p.peer.Write([]byte("x")) }() // ends with the connection
}
