package proxy

import (
	"net"
	"sync"
)

// wires are the connections of a proxy.
type wires struct {
	net.Listener

	mu   sync.Mutex
	open map[*wire]bool
}

func (l *wires) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	w := &wire{Conn: c, of: l, lost: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[*wire]bool{}
	}
	l.open[w] = true
	return w, nil
}

func (l *wires) blackHole() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.open {
		w.lose()
	}
}

// close ends all connections, including black holes.
func (l *wires) close() {
	l.mu.Lock()
	all := l.open
	l.open = nil
	l.mu.Unlock()
	for w := range all {
		_ = w.Conn.Close()
	}
}

// wire is a connection that may become a black hole.
type wire struct {
	net.Conn
	of   *wires
	once sync.Once
	lost chan struct{} // closed once this connection is a black hole
}

func (w *wire) lose() { w.once.Do(func() { close(w.lost) }) }

func (w *wire) isLost() bool {
	select {
	case <-w.lost:
		return true
	default:
		return false
	}
}

// Read swallows all input of a black hole, until the other end gives up.
func (w *wire) Read(b []byte) (int, error) {
	for {
		n, err := w.Conn.Read(b)
		if err != nil || !w.isLost() {
			return n, err
		}
	}
}

// Write drops all output of a black hole.
func (w *wire) Write(b []byte) (int, error) {
	if w.isLost() {
		return len(b), nil
	}
	return w.Conn.Write(b)
}

// Close leaves a black hole open, as a half-open connection is: its other end learns nothing.
func (w *wire) Close() error {
	if w.isLost() {
		return nil // wires.close closes it
	}
	w.of.mu.Lock()
	delete(w.of.open, w)
	w.of.mu.Unlock()
	return w.Conn.Close()
}
