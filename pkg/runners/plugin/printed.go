package plugin

import (
	"io"
	"sync"
)

// printed takes what a plugin prints, until it is closed. It drops later writes, since go-plugin may
// go on writing for a moment.
type printed struct {
	mu     sync.Mutex
	to     io.WriteCloser
	closed bool
}

func (p *printed) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return len(data), nil
	}
	return p.to.Write(data)
}

func (p *printed) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		_ = p.to.Close()
	}
}
