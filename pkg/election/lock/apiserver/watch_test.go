package apiserver

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// TestHowAWatchEnds checks that a watch that lasted as long as we had asked ends with ErrEnded, and one that the server
// closes before with ErrUnknown.
func TestHowAWatchEnds(t *testing.T) {
	for _, tt := range []struct {
		what  string
		lasts func(asked time.Duration) time.Duration
		want  error
	}{
		{"as asked", func(asked time.Duration) time.Duration { return asked }, lock.ErrEnded},
		{"too early", func(asked time.Duration) time.Duration { return asked / 4 }, lock.ErrUnknown},
	} {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seconds, err := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
				if err != nil {
					t.Error(err)
				}
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(map[string]any{"type": "BOOKMARK", "object": map[string]any{
					"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": map[string]any{"resourceVersion": "5"},
				}})
				_ = http.NewResponseController(w).Flush()
				select {
				case <-time.After(tt.lasts(time.Duration(seconds) * time.Second)):
				case <-r.Context().Done():
				}
			}))
			defer server.Close()
			client, err := NewClient(&rest.Config{Host: server.URL}, Group{
				Path: "/apis", Version: coordinationv1.SchemeGroupVersion, Types: []runtime.Object{&coordinationv1.Lease{}, &coordinationv1.LeaseList{}},
			})
			if err != nil {
				t.Fatal(err)
			}
			leases := &Objects[*coordinationv1.Lease]{Kind: Kind[*coordinationv1.Lease]{Name: "lease", Resource: "leases"}, Client: client, Namespace: "edge"}
			stream, err := source[*coordinationv1.Lease]{leases, 2}.Open(t.Context(), 4)
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			for err == nil {
				_, err = stream.Next(t.Context())
			}
			if !errors.Is(err, tt.want) {
				t.Errorf("ends with %v, want %v", err, tt.want)
			}
		})
	}
}
