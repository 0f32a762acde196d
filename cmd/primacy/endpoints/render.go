package endpoints

import (
	"bytes"
	"net/http"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// page is an answer that is not sent yet.
type page struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (p *page) Header() http.Header            { return p.header }
func (p *page) Write(part []byte) (int, error) { return p.body.Write(part) }
func (p *page) WriteHeader(status int)         { p.status = status }
func (p *page) send(w http.ResponseWriter) {
	for key, values := range p.header {
		w.Header()[key] = values
	}
	w.WriteHeader(p.status)
	_, _ = w.Write(p.body.Bytes()) // the client is gone
}

// After an answer that took a while to make, no other one is made for rests times as long, but at most for mostRest:
// the elections keep nearly all of the processors, however many clients ask.
const (
	rests    = 9
	mostRest = time.Second
)

// rendered makes the answers of the handlers that it wraps one after the other, and rests in between. So requests take a
// tenth of one processor from the elections, or less. Only answers that take longer than mostRest/rests take more. It gives
// the turn to the next request before it sends an answer: a client that reads slowly holds nobody up.
func rendered() func(http.Handler) http.Handler {
	turn := make(chan time.Time, 1) // when the next answer may be made
	turn <- time.Time{}
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p := &page{header: http.Header{}, status: http.StatusOK}
			if !p.make(turn, h, r) {
				return
			}
			p.send(w)
		})
	}
}

// make waits for the turn and makes the page; false if the client is gone.
func (p *page) make(turn chan time.Time, h http.Handler, r *http.Request) bool {
	var next time.Time
	select {
	case next = <-turn:
	case <-r.Context().Done():
		return false
	}
	defer func() { turn <- next }()
	if !clock.Wait(r.Context(), time.Until(next)) {
		return false
	}
	began := time.Now()
	defer func() {
		now := time.Now()
		next = now.Add(min(rests*now.Sub(began), mostRest))
	}()
	h.ServeHTTP(p, r)
	return true
}
