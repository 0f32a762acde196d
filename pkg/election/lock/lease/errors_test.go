package lease

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// scripted is a server that gives one answer to everything, and counts the questions.
func scripted(t *testing.T, answer http.HandlerFunc) (s *Store, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return In(newClient(t, &rest.Config{Host: server.URL}), "edge-system"), asked
}

// says is an API server's answer.
func says(code int, reason metav1.StatusReason, message string, details *metav1.StatusDetails) http.HandlerFunc {
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

// plain is the answer of something else, such as a proxy or an overload filter.
func plain(code int, retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		http.Error(w, "no", code)
	}
}

func object200(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

func hangUp(w http.ResponseWriter, _ *http.Request) {
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

var leaseDetails = &metav1.StatusDetails{Group: "coordination.k8s.io", Kind: "leases", Name: "a"}

// Whatever the answer, a write is sent once, and only what certainly was not written is
// told as rejected.
func TestWriteErrors(t *testing.T) {
	busy := &metav1.StatusDetails{RetryAfterSeconds: 3}
	precondition := "Operation cannot be fulfilled on leases: Precondition failed: UID in precondition: u, UID in object meta: "
	for _, c := range []struct {
		what           string
		answer         http.HandlerFunc
		create, update error
	}{
		{"conflict", says(409, metav1.StatusReasonConflict, "modified", leaseDetails), lock.ErrConflict, lock.ErrConflict},
		{"another uid", says(409, metav1.StatusReasonConflict, precondition+"v", leaseDetails), lock.ErrConflict, lock.ErrConflict},
		{"no uid", says(409, metav1.StatusReasonConflict, precondition, leaseDetails), lock.ErrConflict, lock.ErrVanished},
		{"exists", says(409, metav1.StatusReasonAlreadyExists, "", leaseDetails), lock.ErrExists, lock.ErrConflict},
		{"not found", says(404, metav1.StatusReasonNotFound, "", leaseDetails), lock.ErrDenied, lock.ErrVanished},
		{"no namespace", says(404, metav1.StatusReasonNotFound, "", &metav1.StatusDetails{Kind: "namespaces", Name: "edge-system"}), lock.ErrDenied, lock.ErrDenied},
		{"forbidden", says(403, metav1.StatusReasonForbidden, "", leaseDetails), lock.ErrDenied, lock.ErrDenied},
		{"unauthorized", says(401, metav1.StatusReasonUnauthorized, "", nil), lock.ErrDenied, lock.ErrDenied},
		{"invalid", says(422, metav1.StatusReasonInvalid, "", leaseDetails), lock.ErrInvalid, lock.ErrInvalid},
		{"bad request", says(400, metav1.StatusReasonBadRequest, "", nil), lock.ErrInvalid, lock.ErrInvalid},
		{"too large", says(413, metav1.StatusReasonRequestEntityTooLarge, "", nil), lock.ErrInvalid, lock.ErrInvalid},
		{"too many requests", says(429, metav1.StatusReasonTooManyRequests, "", busy), lock.ErrThrottled, lock.ErrThrottled},
		{"too many requests, in plain text", plain(429, "3"), lock.ErrThrottled, lock.ErrThrottled},
		{"internal error", says(500, metav1.StatusReasonInternalError, "", nil), lock.ErrUnknown, lock.ErrUnknown},
		{"server timeout", says(500, metav1.StatusReasonServerTimeout, "", busy), lock.ErrUnknown, lock.ErrUnknown},
		{"unavailable", says(503, metav1.StatusReasonServiceUnavailable, "", busy), lock.ErrUnknown, lock.ErrUnknown},
		{"gateway timeout", says(504, metav1.StatusReasonTimeout, "", busy), lock.ErrUnknown, lock.ErrUnknown},
		{"a proxy's not found", plain(404, ""), lock.ErrUnknown, lock.ErrUnknown},
		{"a proxy's conflict", plain(409, ""), lock.ErrUnknown, lock.ErrUnknown},
		{"a proxy's bad gateway", plain(502, "1"), lock.ErrUnknown, lock.ErrUnknown},
		{"cut before the answer", hangUp, lock.ErrUnknown, lock.ErrUnknown},
		{"cut within the answer", hangUpHalfway, lock.ErrUnknown, lock.ErrUnknown},
		{"an empty answer", object200(""), lock.ErrUnknown, lock.ErrUnknown},
		{"a senseless answer", object200("<html>"), lock.ErrUnknown, lock.ErrUnknown},
		{"another kind", object200(`{"kind":"LeaseList","apiVersion":"coordination.k8s.io/v1","metadata":{"resourceVersion":"7"}}`), lock.ErrUnknown, lock.ErrUnknown},
		{"no version", object200(`{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"a","uid":"u"}}`), lock.ErrUnknown, lock.ErrUnknown},
		{"a version that is no number", object200(`{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"a","uid":"u","resourceVersion":"x"}}`), lock.ErrUnknown, lock.ErrUnknown},
		{"recreated", object200(`{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"a","uid":"v","resourceVersion":"8"}}`), lock.ErrAltered, lock.ErrUnknown},
		{"another record", object200(`{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"a","uid":"u","resourceVersion":"8"},"spec":{"holderIdentity":"x"}}`), lock.ErrAltered, lock.ErrAltered},
		{"what it had before", object200(`{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"a","uid":"u","resourceVersion":"7"},"spec":{"holderIdentity":"h"}}`), lock.ErrAltered, lock.ErrAltered},
	} {
		for kind, w := range map[string]struct {
			replaces record.Version
			want     error
		}{
			"create": {record.Version{}, c.create},
			"update": {record.Version{UID: "u", Revision: 7}, c.update},
		} {
			t.Run(c.what+"/"+kind, func(t *testing.T) {
				s, asked := scripted(t, c.answer)
				_, err := s.Put(t.Context(), "a", record.Record{Holder: "h", Duration: time.Second}, w.replaces)
				if !errors.Is(err, w.want) {
					t.Errorf("got %v, want %v", err, w.want)
				}
				unknown := errors.Is(w.want, lock.ErrUnknown)
				if got := lock.OutcomeOf(err); unknown != (got == lock.Unknown) {
					t.Errorf("outcome of %v is %v", err, got)
				}
				if n := asked.Load(); n != 1 {
					t.Errorf("asked %d times", n)
				}
				var throttled *lock.ThrottledError
				if errors.As(err, &throttled) && throttled.RetryAfter != 3*time.Second {
					t.Errorf("asked to wait %v, want 3s", throttled.RetryAfter)
				}
			})
		}
	}
}

// Only an API server can say that an object is absent.
func TestReadErrors(t *testing.T) {
	for what, c := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"absent":              {says(404, metav1.StatusReasonNotFound, "", leaseDetails), nil},
		"another's absence":   {says(404, metav1.StatusReasonNotFound, "", nil), lock.ErrDenied},
		"of another object":   {says(404, metav1.StatusReasonNotFound, "", &metav1.StatusDetails{Group: "coordination.k8s.io", Kind: "leases", Name: "b"}), lock.ErrDenied},
		"a proxy's not found": {plain(404, ""), lock.ErrUnknown},
		"forbidden":           {says(403, metav1.StatusReasonForbidden, "", leaseDetails), lock.ErrDenied},
		"too many requests":   {plain(429, "1"), lock.ErrThrottled},
		"unavailable":         {plain(503, "1"), lock.ErrUnknown},
		"cut":                 {hangUpHalfway, lock.ErrUnknown},
		"empty":               {object200(""), lock.ErrUnknown},
	} {
		t.Run(what, func(t *testing.T) {
			s, asked := scripted(t, c.answer)
			e, err := s.Get(t.Context(), "a")
			if !errors.Is(err, c.want) || (err == nil) != (e.Name == "a") || !e.Absent() {
				t.Errorf("got %+v, %v; want error %v", e, err, c.want)
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// A server that does not answer in time leaves the outcome open.
func TestSlowServer(t *testing.T) {
	asked := make(chan struct{})
	s, _ := scripted(t, func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	_, err := s.Put(ctx, "a", record.Record{}, record.Version{})
	if lock.OutcomeOf(err) != lock.Unknown || !errors.Is(err, lock.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Nobody listens: nothing was written, but nobody needs to know.
func TestNoServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	s := In(newClient(t, &rest.Config{Host: server.URL}), "edge-system")
	if _, err := s.Put(t.Context(), "a", record.Record{}, record.Version{}); !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("got %v", err)
	}
}

// What a person reads says what to do.
func TestHints(t *testing.T) {
	for want, answer := range map[string]http.HandlerFunc{
		"namespace edge-system does not exist":                                 says(404, metav1.StatusReasonNotFound, "", &metav1.StatusDetails{Kind: "namespaces"}),
		"on leases in namespace edge-system: get, list, watch, create, update": says(403, metav1.StatusReasonForbidden, "the server's words", nil),
		"the server's words":        says(403, metav1.StatusReasonForbidden, "the server's words", nil),
		"are the credentials valid": says(401, metav1.StatusReasonUnauthorized, "", nil),
	} {
		s, _ := scripted(t, answer)
		_, err := s.Put(t.Context(), "a", record.Record{}, record.Version{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
