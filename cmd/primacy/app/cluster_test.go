package app

import (
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// client-go shares connections between clients of equal configuration; ours does not.
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
	for i, tt := range []struct {
		config *rest.Config
		want   int32
	}{{shared, 1}, {rest.CopyConfig(shared), 1}, {ownConnections(shared), 2}, {shared, 2}} {
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
