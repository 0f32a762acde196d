package app

import (
	"net"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestReachSilentServer checks the error for a server that accepts the connection and never answers.
func TestReachSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = reach(t.Context(), &rest.Config{Host: "http://" + l.Addr().String()}, 100*time.Millisecond, func(waiting) {})
	if err == nil || !strings.Contains(err.Error(), "cannot be reached: no answer; gave up after 100ms (is it running") {
		t.Errorf("got %v", err)
	}
}
