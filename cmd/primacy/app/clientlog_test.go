package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// TestCancelledRequestsAreNoErrors checks that clientLog lowers the error that client-go logs for a
// request that this process cancelled, as at its end. The error of a request that broke off for another
// reason stays an error.
func TestCancelledRequestsAreNoErrors(t *testing.T) {
	for name, want := range map[string]int{"cancelled": 0, "broken off": 1} {
		t.Run(name, func(t *testing.T) {
			core, logs := observer.New(zap.InfoLevel)
			ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), clientLog(zap.New(core))))
			defer cancel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", "1000")
				w.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(w).Flush()
				if want > 0 {
					panic(http.ErrAbortHandler)
				}
				<-r.Context().Done()
			}))
			defer server.Close()
			answered := func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					response, err := next.RoundTrip(r)
					if want == 0 {
						cancel() // while the body has not arrived yet
					}
					return response, err
				})
			}
			client, err := coreclient.NewForConfig(&rest.Config{Host: server.URL, WrapTransport: answered})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.ConfigMaps("default").Get(ctx, "a", metav1.GetOptions{}); err == nil {
				t.Error("no error")
			}
			if got := logs.FilterLevelExact(zap.ErrorLevel).Len(); got != want {
				t.Errorf("%d errors are logged, want %d: %v", got, want, logs.All())
			}
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
