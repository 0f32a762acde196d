package apiserver

import (
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// TestOwnConnections checks that our clients share connections with no other client. client-go alone
// shares them between clients of equal configuration.
func TestOwnConnections(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "{}")
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	shared := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
	own := rest.CopyConfig(shared)
	ownConnections(own)
	for i, tt := range []struct {
		config *rest.Config
		want   int32
	}{{shared, 1}, {rest.CopyConfig(shared), 1}, {own, 2}, {shared, 2}} {
		client, err := rest.HTTPClientFor(tt.config)
		if err != nil {
			t.Fatal(err)
		}
		defer utilnet.CloseIdleConnectionsFor(client.Transport)
		resp, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if got := connections.Load(); got != tt.want {
			t.Errorf("after client %d: %d connections, want %d", i, got, tt.want)
		}
	}
}

// TestAliveReachesTheTransport checks that the pings are set on the transport beneath client-go's
// wrappers; a transport that was made alive before stays as it is.
func TestAliveReachesTheTransport(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config := &rest.Config{Host: server.URL, BearerToken: "x", TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
	for want, c := range map[time.Duration]*rest.Config{
		defaultAlive() / 2: config,
		time.Second:        Alive(config, 2*time.Second),
	} {
		client, err := NewClient(c, Group{Path: "/apis", Version: coordinationv1.SchemeGroupVersion})
		if err != nil {
			t.Fatal(err)
		}
		transport := transportOf(client.http.Transport)
		if transport == nil || transport.HTTP2 == nil || transport.HTTP2.SendPingTimeout != want || transport.HTTP2.PingTimeout != want {
			t.Errorf("want pings of %v, got %+v", want, transport)
		}
	}
}
