package endpoints

import (
	"bytes"
	"net/http"
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

// rendered makes the answers of the handlers that it wraps one after the other, so that requests take one processor at
// most from the elections. It gives the turn to the next request before it sends an answer: a client that reads slowly
// holds nobody up.
func rendered() func(http.Handler) http.Handler {
	turn := make(chan struct{}, 1)
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
func (p *page) make(turn chan struct{}, h http.Handler, r *http.Request) bool {
	select {
	case turn <- struct{}{}:
	case <-r.Context().Done():
		return false
	}
	defer func() { <-turn }()
	h.ServeHTTP(p, r)
	return true
}
