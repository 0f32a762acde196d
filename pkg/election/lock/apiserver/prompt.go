package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// ClientFor makes one of client-go's typed clients, whose requests end with their contexts:
//
//	core, err := apiserver.ClientFor(config, corev1.NewForConfigAndClient)
//
// client-go alone waits without a bound for the program that gives out the credentials of a kubeconfig: a login that
// waits for a browser, or a tool of a cloud without a network. It waits likewise for the file of a token, or of the
// server's certificates, which may be on a disk that does not answer.
func ClientFor[C any](config *rest.Config, typed func(*rest.Config, *http.Client) (C, error)) (c C, err error) {
	h, err := HTTPClientFor(config)
	if err != nil {
		return c, err
	}
	return typed(config, h)
}

// HTTPClientFor is rest.HTTPClientFor for clients as ClientFor makes them.
func HTTPClientFor(config *rest.Config) (*http.Client, error) {
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("http client: %w", err)
	}
	g := giverOf(config)
	if g == (giver{}) {
		return h, nil
	}
	return &http.Client{Timeout: h.Timeout, Transport: &prompt{next: h.Transport, giver: g, slots: make(chan struct{}, mostHeldUp)}}, nil
}

// giver is what client-go asks or reads anew at some requests, without a bound.
type giver struct{ name, hint string }

// giverOf returns what gives the credentials of a configuration, or else the server's certificates; the zero giver if
// client-go has all that it needs.
func giverOf(config *rest.Config) giver {
	const program, file = "does it hang, or wait for somebody to log in?", "does its file system answer?"
	switch {
	case config.ExecProvider != nil:
		return giver{config.ExecProvider.Command, program}
	case config.AuthProvider != nil:
		return giver{config.AuthProvider.Name, program}
	case config.BearerTokenFile != "":
		return giver{config.BearerTokenFile, file}
	case config.CAFile != "" && len(config.CAData) == 0:
		return giver{config.CAFile, file}
	}
	return giver{}
}

const (
	// mostHeldUp is how many requests of a client may wait for credentials and for answers at the same time. It bounds
	// the goroutines that are left behind. The members' own requests are far fewer.
	mostHeldUp = 512
	// lastWord is how much longer than its context a request may last, since it knows best why it failed.
	lastWord = 100 * time.Millisecond
)

// prompt is a transport that answers soon after a request's context has ended, whatever the next one does. A request that
// is left behind sends nothing any more, since its context has ended.
type prompt struct {
	next  http.RoundTripper
	giver giver
	slots chan struct{}
}

type answer struct {
	response *http.Response
	err      error
}

// RoundTrip implements http.RoundTripper.
func (p *prompt) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, p.hangs(ctx)
	}
	answered, left := make(chan answer), make(chan struct{})
	defer close(left)
	go func() { // left behind, it ends with the program or the disk that it waits for
		response, err := p.next.RoundTrip(r)
		<-p.slots
		select {
		case answered <- answer{response, err}:
		case <-left:
			if err == nil {
				_ = response.Body.Close()
			}
		}
	}()
	select {
	case a := <-answered:
		return a.response, a.err
	case <-ctx.Done():
	}
	late := clock.NewTimer(lastWord)
	defer late.Stop()
	select {
	case a := <-answered:
		return a.response, a.err
	case <-late.C:
		return nil, p.hangs(ctx)
	}
}

// hangs is the error of a request that nobody answered in time. We cannot see which of the two has kept it.
func (p *prompt) hangs(ctx context.Context) error {
	return fmt.Errorf("no credentials from %s, or no answer: %w (%s)", p.giver.name, context.Cause(ctx), p.giver.hint)
}

// WrappedRoundTripper lets client-go find the transport beneath.
func (p *prompt) WrappedRoundTripper() http.RoundTripper { return p.next }

var _ utilnet.RoundTripperWrapper = (*prompt)(nil)
