package proxy

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// Proxy is one access to an API server. Its methods are safe for concurrent use.
type Proxy struct {
	up     http.RoundTripper
	target string
	server *httptest.Server
	wires  *wires

	mu     sync.Mutex
	faults map[Op]Fault
	lag    time.Duration
}

// New makes a proxy without faults to the API server of target; it ends with the test.
func New(t testing.TB, target *rest.Config) *Proxy {
	t.Helper()
	up, err := rest.TransportFor(target)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{up: up, target: target.Host, faults: map[Op]Fault{}}
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	p.wires = &wires{Listener: p.server.Listener}
	p.server.Listener = p.wires
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0) // connections are cut on purpose
	p.server.EnableHTTP2 = true
	p.server.StartTLS()
	t.Cleanup(func() {
		p.Heal()
		p.wires.close()
		p.server.Close()
		utilnet.CloseIdleConnectionsFor(up)
	})
	return p
}

// Config is the administrator's configuration, through the proxy.
func (p *Proxy) Config() *rest.Config {
	return &rest.Config{Host: p.server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1}
}

// Kubeconfig writes a kubeconfig with the configuration that Config returns.
func (p *Proxy) Kubeconfig(path, namespace string) error {
	return os.WriteFile(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: administrator}}]
contexts: [{name: x, context: {cluster: c, user: u, namespace: %s}}]
current-context: x
`, p.server.URL, namespace), 0o600)
}

// On gives the operation a fault, which replaces its present one; nil for none.
func (p *Proxy) On(op Op, f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults[op] = f
}

// Lag delays all watches by d from here on, including what has arrived but was not passed on.
func (p *Proxy) Lag(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lag = d
}

// Heal removes all faults and the lag. Requests that wait in a fault keep waiting, and black holes stay.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.faults)
	p.lag = 0
}

// BlackHole makes all open connections half-open: what the member sends vanishes, and nothing comes
// back. New connections work.
func (p *Proxy) BlackHole() { p.wires.blackHole() }

// Cut closes all open connections.
func (p *Proxy) Cut() { p.server.CloseClientConnections() }

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	fault := p.faults[opOf(r)]
	p.mu.Unlock()
	forward := http.HandlerFunc(p.forward)
	if fault == nil {
		forward(w, r)
		return
	}
	fault(w, r, forward)
}

// forward lets the API server answer.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request) {
	req, err := http.NewRequestWithContext(r.Context(), r.Method, p.target+r.URL.RequestURI(), r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	req.ContentLength = r.ContentLength
	for key, values := range r.Header {
		if key != "Authorization" && key != "Accept-Encoding" {
			req.Header[key] = values
		}
	}
	res, err := p.up.RoundTrip(req)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	for key, values := range res.Header {
		if !strings.EqualFold(key, "Content-Length") {
			w.Header()[key] = values
		}
	}
	w.WriteHeader(res.StatusCode)
	if opOf(r) == Watch {
		p.stream(w, r, res.Body)
		return
	}
	if _, err := io.Copy(w, res.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
}
