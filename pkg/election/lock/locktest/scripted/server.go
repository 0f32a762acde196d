// Package scripted tests how a kind of lock handles the possible answers of an API server, or of
// whatever is in front of it. A server of this process gives the answers.
package scripted

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Server gives one answer to every request until the test ends, and counts the requests. It returns its
// address.
func Server(t *testing.T, answer http.HandlerFunc) (address string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// Says gives an API server's answer.
func Says(code int, reason metav1.StatusReason, message string, details *metav1.StatusDetails) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if details != nil && details.RetryAfterSeconds > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(details.RetryAfterSeconds))
		}
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
			Code: int32(code), Reason: reason, Message: message, Details: details,
		})
	}
}

// Plain gives the answer of something else, such as a proxy or an overload filter.
func Plain(code int, retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		http.Error(w, "no", code)
	}
}

// OK answers with an object.
func OK(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

// HangUp closes the connection without an answer.
func HangUp(w http.ResponseWriter, _ *http.Request) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = c.Close()
	}
}

func hangUpHalfway(w http.ResponseWriter, _ *http.Request) {
	c, b, err := w.(http.Hijacker).Hijack()
	if err == nil {
		half(b)
		_ = c.Close()
	}
}

func half(b *bufio.ReadWriter) {
	_, _ = b.WriteString("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"kind\":")
	_ = b.Flush()
}
