package apiserver

import (
	"net"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// Alive returns a copy of config whose connections end soon after their other end has silently
// gone: an HTTP/2 connection without input for within / 2 sends a ping, and closes if no answer
// comes for as long again. client-go's own pings take 45 s, during which all requests and watches
// wait on a dead connection. Choose within well below the outage that a term survives,
// record.Timing.Outage. A config that is alive already keeps its own time.
func Alive(config *rest.Config, within time.Duration) *rest.Config {
	c := rest.CopyConfig(config)
	if c.Transport != nil {
		return c // the caller's, and perhaps in use
	}
	ownConnections(c) // shared connections may be in use as well
	c.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		if t := transportOf(rt); t != nil && t != http.DefaultTransport && t.HTTP2 == nil {
			t.HTTP2 = &http.HTTP2Config{SendPingTimeout: within / 2, PingTimeout: within / 2}
		}
		return rt
	})
	return c
}

// transportOf finds the transport beneath client-go's wrappers; nil if it cannot.
func transportOf(rt http.RoundTripper) *http.Transport {
	for {
		switch is := rt.(type) {
		case *http.Transport:
			return is
		case utilnet.RoundTripperWrapper:
			rt = is.WrappedRoundTripper()
		default:
			return nil
		}
	}
}

// ownConnections gives c connections that no other client shares: client-go shares them between
// equal configurations, and two dialers are never equal.
func ownConnections(c *rest.Config) {
	if c.Dial == nil && c.Transport == nil {
		c.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
}
