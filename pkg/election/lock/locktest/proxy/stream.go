package proxy

import (
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// chunk is a piece of a watch, and when it came.
type chunk struct {
	at   time.Time
	data []byte
}

// mostChunks is how many chunks may wait for a lag to pass.
const mostChunks = 1 << 16

// lagStep is how often a waiting chunk checks whether the lag is over.
const lagStep = 5 * time.Millisecond

// stream passes a watch on, each chunk delayed by the lag.
func (p *Proxy) stream(w http.ResponseWriter, r *http.Request, body io.Reader) {
	flush := http.NewResponseController(w).Flush
	if flush() != nil {
		return
	}
	chunks := make(chan chunk, mostChunks)
	var reader sync.WaitGroup
	defer reader.Wait() // the reader ends when the request ends
	reader.Go(func() {
		defer close(chunks)
		buffer := make([]byte, 64<<10)
		for {
			n, err := body.Read(buffer)
			if n > 0 {
				chunks <- chunk{time.Now(), append([]byte(nil), buffer[:n]...)}
			}
			if err != nil {
				return
			}
		}
	})
	for {
		select {
		case <-r.Context().Done():
			return
		case c, open := <-chunks:
			if !open || !p.late(r, c) {
				return
			}
			if _, err := w.Write(c.data); err != nil || flush() != nil {
				return
			}
		}
	}
}

// late waits until the chunk is due; false if the request ends before that.
func (p *Proxy) late(r *http.Request, c chunk) bool {
	for {
		p.mu.Lock()
		lag := p.lag
		p.mu.Unlock()
		if time.Since(c.at) >= lag {
			return true
		}
		select {
		case <-r.Context().Done():
			return false
		case <-clock.NewTimer(lagStep).C:
		}
	}
}
