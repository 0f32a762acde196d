package configmap

import (
	"encoding/json"
	"errors"
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
	return In(newClient(t, &rest.Config{Host: server.URL}), "istio-system"), asked
}

// says is an API server's answer.
func says(code int, reason metav1.StatusReason, message string, details *metav1.StatusDetails) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
			Code: int32(code), Reason: reason, Message: message, Details: details,
		})
	}
}

// plain is the answer of something else, such as a proxy.
func plain(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// Whatever the answer, a write is sent once, and only what certainly was not written is
// told as rejected.
func TestWriteErrors(t *testing.T) {
	details := &metav1.StatusDetails{Kind: "configmaps", Name: "a", RetryAfterSeconds: 3}
	precondition := "Operation cannot be fulfilled on configmaps: Precondition failed: UID in precondition: u, UID in object meta: "
	for _, c := range []struct {
		what           string
		answer         http.HandlerFunc
		create, update error
	}{
		{"conflict", says(409, metav1.StatusReasonConflict, "modified", details), lock.ErrConflict, lock.ErrConflict},
		{"another uid", says(409, metav1.StatusReasonConflict, precondition+"v", details), lock.ErrConflict, lock.ErrConflict},
		{"no uid", says(409, metav1.StatusReasonConflict, precondition, details), lock.ErrConflict, lock.ErrVanished},
		{"exists", says(409, metav1.StatusReasonAlreadyExists, "", details), lock.ErrExists, lock.ErrConflict},
		{"not found", says(404, metav1.StatusReasonNotFound, "", details), lock.ErrDenied, lock.ErrVanished},
		{"no namespace", says(404, metav1.StatusReasonNotFound, "", &metav1.StatusDetails{Kind: "namespaces"}), lock.ErrDenied, lock.ErrDenied},
		{"forbidden", says(403, metav1.StatusReasonForbidden, "", details), lock.ErrDenied, lock.ErrDenied},
		{"unauthorized", says(401, metav1.StatusReasonUnauthorized, "", nil), lock.ErrDenied, lock.ErrDenied},
		{"invalid", says(422, metav1.StatusReasonInvalid, "", details), lock.ErrInvalid, lock.ErrInvalid},
		{"too many requests", says(429, metav1.StatusReasonTooManyRequests, "", details), lock.ErrThrottled, lock.ErrThrottled},
		{"server timeout", says(500, metav1.StatusReasonServerTimeout, "", details), lock.ErrUnknown, lock.ErrUnknown},
		{"unavailable", says(503, metav1.StatusReasonServiceUnavailable, "", details), lock.ErrUnknown, lock.ErrUnknown},
		{"a proxy's not found", plain(404, "no"), lock.ErrUnknown, lock.ErrUnknown},
		{"a proxy's conflict", plain(409, "no"), lock.ErrUnknown, lock.ErrUnknown},
		{"an empty answer", plain(200, ""), lock.ErrUnknown, lock.ErrUnknown},
		{"no version", plain(200, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"u"}}`), lock.ErrUnknown, lock.ErrUnknown},
		{"recreated", plain(200, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"v","resourceVersion":"8"}}`), lock.ErrAltered, lock.ErrUnknown},
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
				if unknown := errors.Is(w.want, lock.ErrUnknown); unknown != (lock.OutcomeOf(err) == lock.Unknown) {
					t.Errorf("outcome of %v is %v", err, lock.OutcomeOf(err))
				}
				if n := asked.Load(); n != 1 {
					t.Errorf("asked %d times", n)
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
		"absent":              {says(404, metav1.StatusReasonNotFound, "", &metav1.StatusDetails{Kind: "configmaps", Name: "a"}), nil},
		"another's absence":   {says(404, metav1.StatusReasonNotFound, "", nil), lock.ErrDenied},
		"a proxy's not found": {plain(404, "no"), lock.ErrUnknown},
		"empty":               {plain(200, ""), lock.ErrUnknown},
	} {
		s, _ := scripted(t, c.answer)
		if e, err := s.Get(t.Context(), "a"); !errors.Is(err, c.want) || (err == nil) != (e.Name == "a") || !e.Absent() {
			t.Errorf("%s: got %+v, %v; want error %v", what, e, err, c.want)
		}
	}
}

// Annotations of ours and others' have a common limit, which is ours to keep: only what
// was refused before it was sent is certainly not written.
func TestTotalSize(t *testing.T) {
	s, asked := scripted(t, plain(500, ""))
	m := annotated(`{"x":"y"}`)
	m.Annotations["example.com/huge"] = strings.Repeat("x", 256<<10-100)
	r := record.Record{Holder: "h", Duration: time.Second, Rest: restOfMeta(m)}
	if _, err := s.Put(t.Context(), "a", r, record.Version{}); !errors.Is(err, lock.ErrInvalid) || asked.Load() != 0 {
		t.Errorf("got %v, asked %d times", err, asked.Load())
	}
}
