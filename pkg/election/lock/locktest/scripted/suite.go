package scripted

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Kind is a kind of lock object.
type Kind struct {
	// Group and Resource are the API server's names for the kind, such as coordination.k8s.io and leases.
	Group, Resource string
	// New makes a store in a namespace of the server at the address.
	New func(t *testing.T, address, namespace string) lock.Store
	// Object returns an object with the name "a" and the uid, as JSON; empty arguments leave out the version
	// or the holder.
	Object func(uid, version, holder string) string
	// List returns an empty list of such objects, as JSON.
	List func() string
}

const namespace = "edge-system"

// Run runs the suite.
func Run(t *testing.T, k Kind) {
	t.Run("writes", k.writes)
	t.Run("reads", k.reads)
	t.Run("slow server", k.slowServer)
	t.Run("no server", k.noServer)
	t.Run("hints", k.hints)
}

func (k Kind) store(t *testing.T, answer http.HandlerFunc) (lock.Store, *atomic.Int32) {
	t.Helper()
	address, asked := Server(t, answer)
	return k.New(t, address, namespace), asked
}

func (k Kind) details(name string) *metav1.StatusDetails {
	return &metav1.StatusDetails{Group: k.Group, Kind: k.Resource, Name: name}
}

// writes checks that a write is sent once, whatever the answer, and that the store reports "rejected"
// only for what was certainly not written.
func (k Kind) writes(t *testing.T) {
	details := k.details("a")
	busy := &metav1.StatusDetails{RetryAfterSeconds: 3}
	precondition := "Operation cannot be fulfilled on " + k.Resource + ": Precondition failed: UID in precondition: u, UID in object meta: "
	for _, c := range []struct {
		what           string
		answer         http.HandlerFunc
		create, update error
	}{
		{"conflict", Says(409, metav1.StatusReasonConflict, "modified", details), lock.ErrConflict, lock.ErrConflict},
		{"another uid", Says(409, metav1.StatusReasonConflict, precondition+"v", details), lock.ErrConflict, lock.ErrConflict},
		{"no uid", Says(409, metav1.StatusReasonConflict, precondition, details), lock.ErrConflict, lock.ErrVanished},
		{"exists", Says(409, metav1.StatusReasonAlreadyExists, "", details), lock.ErrExists, lock.ErrConflict},
		{"not found", Says(404, metav1.StatusReasonNotFound, "", details), lock.ErrDenied, lock.ErrVanished},
		{"no namespace", Says(404, metav1.StatusReasonNotFound, "", &metav1.StatusDetails{Kind: "namespaces", Name: "edge-system"}), lock.ErrDenied, lock.ErrDenied},
		{"forbidden", Says(403, metav1.StatusReasonForbidden, "", details), lock.ErrDenied, lock.ErrDenied},
		{"unauthorized", Says(401, metav1.StatusReasonUnauthorized, "", nil), lock.ErrDenied, lock.ErrDenied},
		{"invalid", Says(422, metav1.StatusReasonInvalid, "", details), lock.ErrInvalid, lock.ErrInvalid},
		{"bad request", Says(400, metav1.StatusReasonBadRequest, "", nil), lock.ErrInvalid, lock.ErrInvalid},
		{"too large", Says(413, metav1.StatusReasonRequestEntityTooLarge, "", nil), lock.ErrInvalid, lock.ErrInvalid},
		{"too many requests", Says(429, metav1.StatusReasonTooManyRequests, "", busy), lock.ErrThrottled, lock.ErrThrottled},
		{"too many requests, in plain text", Plain(429, "3"), lock.ErrThrottled, lock.ErrThrottled},
		{"internal error", Says(500, metav1.StatusReasonInternalError, "", nil), lock.ErrUnknown, lock.ErrUnknown},
		{"server timeout", Says(500, metav1.StatusReasonServerTimeout, "", busy), lock.ErrUnknown, lock.ErrUnknown},
		{"unavailable", Says(503, metav1.StatusReasonServiceUnavailable, "", busy), lock.ErrUnknown, lock.ErrUnknown},
		{"gateway timeout", Says(504, metav1.StatusReasonTimeout, "", busy), lock.ErrUnknown, lock.ErrUnknown},
		{"a proxy's not found", Plain(404, ""), lock.ErrUnknown, lock.ErrUnknown},
		{"a proxy's conflict", Plain(409, ""), lock.ErrUnknown, lock.ErrUnknown},
		{"a proxy's bad gateway", Plain(502, "1"), lock.ErrUnknown, lock.ErrUnknown},
		{"cut before the answer", HangUp, lock.ErrUnknown, lock.ErrUnknown},
		{"cut within the answer", hangUpHalfway, lock.ErrUnknown, lock.ErrUnknown},
		{"an empty answer", OK(""), lock.ErrUnknown, lock.ErrUnknown},
		{"a senseless answer", OK("<html>"), lock.ErrUnknown, lock.ErrUnknown},
		{"another kind", OK(k.List()), lock.ErrUnknown, lock.ErrUnknown},
		{"no version", OK(k.Object("u", "", "")), lock.ErrUnknown, lock.ErrUnknown},
		{"a version that is no number", OK(k.Object("u", "x", "")), lock.ErrUnknown, lock.ErrUnknown},
		{"recreated", OK(k.Object("v", "8", "")), lock.ErrAltered, lock.ErrUnknown},
		{"another record", OK(k.Object("u", "8", "x")), lock.ErrAltered, lock.ErrAltered},
		{"what it had before", OK(k.Object("u", "7", "h")), lock.ErrAltered, lock.ErrAltered},
	} {
		for kind, w := range map[string]struct {
			replaces record.Version
			want     error
		}{
			"create": {record.Version{}, c.create},
			"update": {record.Version{UID: "u", Revision: 7}, c.update},
		} {
			t.Run(c.what+"/"+kind, func(t *testing.T) {
				s, asked := k.store(t, c.answer)
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

// reads checks that only an API server's own answer can say that an object is absent.
func (k Kind) reads(t *testing.T) {
	details := k.details("a")
	for what, c := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"absent":              {Says(404, metav1.StatusReasonNotFound, "", details), nil},
		"another's absence":   {Says(404, metav1.StatusReasonNotFound, "", nil), lock.ErrDenied},
		"of another object":   {Says(404, metav1.StatusReasonNotFound, "", k.details("b")), lock.ErrDenied},
		"a proxy's not found": {Plain(404, ""), lock.ErrUnknown},
		"forbidden":           {Says(403, metav1.StatusReasonForbidden, "", details), lock.ErrDenied},
		"too many requests":   {Plain(429, "1"), lock.ErrThrottled},
		"unavailable":         {Plain(503, "1"), lock.ErrUnknown},
		"cut":                 {hangUpHalfway, lock.ErrUnknown},
		"empty":               {OK(""), lock.ErrUnknown},
	} {
		t.Run(what, func(t *testing.T) {
			s, asked := k.store(t, c.answer)
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

// slowServer checks that the outcome is unknown if a server does not answer in time.
func (k Kind) slowServer(t *testing.T) {
	asked := make(chan struct{})
	s, _ := k.store(t, func(_ http.ResponseWriter, r *http.Request) {
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

// noServer checks writes if no server listens: nothing was written, but the store need not know that.
func (k Kind) noServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	s := k.New(t, server.URL, namespace)
	if _, err := s.Put(t.Context(), "a", record.Record{}, record.Version{}); !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("got %v", err)
	}
}

// hints checks that errors tell people what to do.
func (k Kind) hints(t *testing.T) {
	for want, answer := range map[string]http.HandlerFunc{
		"namespace edge-system does not exist":                                             Says(404, metav1.StatusReasonNotFound, "", &metav1.StatusDetails{Kind: "namespaces"}),
		"on " + k.Resource + " in namespace edge-system: get, list, watch, create, update": Says(403, metav1.StatusReasonForbidden, "the server's words", nil),
		"a policy of the cluster":                                                          Says(403, metav1.StatusReasonForbidden, "leases is forbidden: ValidatingAdmissionPolicy 'locks' denied request", nil),
		"the server's words":                                                               Says(403, metav1.StatusReasonForbidden, "the server's words", nil),
		"are the credentials valid":                                                        Says(401, metav1.StatusReasonUnauthorized, "", nil),
	} {
		s, _ := k.store(t, answer)
		_, err := s.Put(t.Context(), "a", record.Record{}, record.Version{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
