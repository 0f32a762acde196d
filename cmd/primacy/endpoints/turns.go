package endpoints

import (
	"context"
	"net/http"
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
	// place is when a client had its last turn. The one goes first for whom that is longest ago.
	place func(*client) *uint64
	// several: a request takes several turns, and its client keeps its place for all of them.
	several bool

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
	// keeps: the client keeps its place. A request takes a few turns, and would otherwise wait behind all others for each.
	keeps bool
}

// client is an address with open connections.
type client struct {
	turn, answer uint64 // its last turn, of a connection and of an answer; the mu of the turns guards it

	// The turnListener's mu guards these.
	open        int
	lastRequest uint64      // when a handler last had a request of it; zero for never
	waiting     []*turnConn // those for which no work has begun, the oldest first
}

// before says whether a is next rather than b, which came before. A flood from one address does not keep others waiting.
func (t *turns) before(a, b turnOf) bool {
	if a.client == nil || b.client == nil || *t.place(a.client) == *t.place(b.client) {
		return a.again && !b.again
	}
	return *t.place(a.client) < *t.place(b.client)
}

const (
	mostRest = time.Second
	// leastTurn is what a turn costs beside what it is for.
	leastTurn = 20 * time.Microsecond
)

// answerTurns are for answers that take a while to make. They take a tenth of one processor from the elections, or less. Only
// those that take longer than mostRest/9 take more.
func answerTurns() *turns {
	return &turns{rests: 9, place: func(c *client) *uint64 { return &c.answer }}
}

// connectionTurns are for what costs least or cannot wait: handshakes, heads of requests, and answers to probes. They take half of
// one processor, and only one goroutine of theirs at a time. What a handler then does before it waits is not in turns: it looks up a token, or
// turns a client away. There is no more of that than of heads.
func connectionTurns() *turns {
	return &turns{rests: 1, early: time.Millisecond, longest: 100 * time.Millisecond, several: true, place: func(c *client) *uint64 { return &c.turn }}
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
		if t.before(one.turnOf, t.waiting[next].turnOf) {
			next = i
		}
	}
	t.give(t.waiting[next].turnOf)
	close(t.waiting[next].has)
	t.waiting = slices.Delete(t.waiting, next, next+1)
}

func (t *turns) give(of turnOf) {
	t.taken = true
	if t.number++; of.client != nil && !of.keeps {
		*t.place(of.client) = t.number
	}
}

// inTurns has h make its answers in turns, and sends them outside of them.
func (t *turns) inTurns(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &page{header: http.Header{}, status: http.StatusOK}
		if t.answer(p, h, r) {
			p.send(w)
		}
	})
}

// answer makes a page; false if the client is gone.
func (t *turns) answer(p *page, h http.Handler, r *http.Request) bool {
	of, c := turnOf{}, connectionOf(r.Context())
	if c != nil {
		of = turnOf{client: c.client, again: true, keeps: t.several}
	}
	end, is := t.take(r.Context(), of)
	if !is {
		return false
	}
	defer end()
	c.stays()
	h.ServeHTTP(p, r)
	return true
}
