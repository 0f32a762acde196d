package endpoints

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// TestSlowReaderHoldsNobodyUp checks that answers are made one after the other, and that a client that does not read its
// own keeps none from others.
func TestSlowReaderHoldsNobodyUp(t *testing.T) {
	var making, most atomic.Int64
	h := rendered()(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		most.Store(max(most.Load(), making.Add(1)))
		defer making.Add(-1)
		w.Header().Set("X-Made", "yes")
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("page"))
	}))
	reads, done := make(chan struct{}), make(chan struct{}, 100)
	var wg sync.WaitGroup
	slow := slowReader{httptest.NewRecorder(), make(chan struct{}), reads}
	wg.Go(func() { h.ServeHTTP(slow, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)) })
	<-slow.sent
	for range 100 {
		wg.Go(func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
			if w.Code != http.StatusTeapot || w.Header().Get("X-Made") != "yes" || w.Body.String() != "page" {
				t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
			}
			done <- struct{}{}
		})
	}
	late := clock.NewTimer(10 * time.Second)
	defer late.Stop()
	for got := 0; got < 100; got++ { // all get theirs before the slow one does
		select {
		case <-done:
		case <-late.C:
			t.Errorf("%d of 100 have an answer", got)
			got = 100
		}
	}
	close(reads)
	wg.Wait()
	if most.Load() != 1 {
		t.Errorf("%d answers were made at once", most.Load())
	}
}

// TestAnswersLeaveTheProcessorsToTheElections checks that answers are made for a tenth of the time, that a rest is
// never longer than a second, and that a client that has gone keeps no turn.
func TestAnswersLeaveTheProcessorsToTheElections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct{ takes, all time.Duration }{
			{10 * time.Millisecond, 910 * time.Millisecond},
			{time.Minute, 10*time.Minute + 9*time.Second},
		} {
			h := rendered()(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { clock.Wait(t.Context(), tt.takes) }))
			gone, leave := context.WithCancel(t.Context())
			leave()
			began := time.Now()
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() {
					h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
				})
				wg.Go(func() {
					h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, http.MethodGet, "/", nil))
				})
			}
			wg.Wait()
			if took := time.Since(began); took != tt.all {
				t.Errorf("10 answers of %v each took %v, want %v", tt.takes, took, tt.all)
			}
		}
	})
}

// slowReader is a client that accepts its answer once reads is closed.
type slowReader struct {
	*httptest.ResponseRecorder
	sent  chan struct{}
	reads chan struct{}
}

func (s slowReader) Write(part []byte) (int, error) {
	close(s.sent)
	<-s.reads
	return s.ResponseRecorder.Write(part)
}
