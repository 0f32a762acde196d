package configmap_test

import (
	"errors"
	"io"
	"net/http"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

var errUnreachable = errors.New("planted: no route to host")

// fault breaks the requests of a client.
type fault struct {
	mu     sync.Mutex
	below  http.RoundTripper
	err    error
	denied int
	// more is closed when a request fails; nil while nobody waits.
	more    chan struct{}
	streams []io.Closer
}

func (f *fault) wrap(rt http.RoundTripper) http.RoundTripper {
	f.below = rt
	return f
}

// RoundTrip implements http.RoundTripper.
func (f *fault) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	err := f.err
	if err != nil {
		f.denied++
		if f.more != nil {
			close(f.more)
			f.more = nil
		}
	}
	f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	resp, err := f.below.RoundTrip(r)
	if err == nil && r.URL.Query().Get("watch") != "" {
		f.mu.Lock()
		f.streams = append(f.streams, resp.Body)
		f.mu.Unlock()
	}
	return resp, err
}

// set makes every request from now on fail; nil lets them pass again.
func (f *fault) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.denied = err, 0
}

// refused waits until n requests have failed.
func (f *fault) refused(n int) {
	for {
		f.mu.Lock()
		if f.denied >= n {
			f.mu.Unlock()
			return
		}
		more := make(chan struct{})
		f.more = more
		f.mu.Unlock()
		<-more
	}
}

// cut ends every open stream, and returns how many there were.
func (f *fault) cut() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.streams {
		_ = s.Close()
	}
	n := len(f.streams)
	f.streams = nil
	return n
}

func (f *fault) closeIdle() { utilnet.CloseIdleConnectionsFor(f.below) }

func tokenRequest() *authenticationv1.TokenRequest {
	return &authenticationv1.TokenRequest{}
}
