package endpoints

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// TestAProfileEnds checks that a profile lasts for no longer than we allow, whatever its client asks for.
func TestAProfileEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		lasting(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })).
			ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		if took := time.Since(began); took != profileTime {
			t.Errorf("it took %v, want %v", took, profileTime)
		}
	})
}

// stuck is an answer to a client that accepts nothing.
type stuck struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (s *stuck) SetWriteDeadline(at time.Time) error { s.until = at; return nil }
func (s *stuck) Write([]byte) (int, error) {
	clock.Wait(context.Background(), time.Until(s.until))
	return 0, errors.New("late")
}

// TestATraceThatNobodyFollows checks that a trace ends once its client takes nothing, since the runtime keeps the rest in memory.
func TestATraceThatNobodyFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, w := time.Now(), &stuck{ResponseRecorder: httptest.NewRecorder()}
		followed(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("trace"))
			<-r.Context().Done()
		})(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		if took := time.Since(began); took != streamTime {
			t.Errorf("it took %v, want %v", took, streamTime)
		}
	})
}
