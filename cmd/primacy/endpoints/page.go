package endpoints

import (
	"bytes"
	"net/http"
)

// page is an answer that is not sent yet: a client that reads slowly holds up nobody who waits for his.
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
