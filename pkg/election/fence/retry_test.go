package fence_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// TestRetryAsksAgain checks that a write that client-go delays because the server was busy asks the gate
// again: the term in which it began may be over.
func TestRetryAsksAgain(t *testing.T) {
	leading(t, nil, func(t *testing.T, m1 *member, _ *memory.Realm) {
		w := &wire{answer: func(req *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"20"}},
				Body: io.NopCloser(strings.NewReader("busy")), Request: req,
			}, nil
		}}
		client := &http.Client{Transport: gateOf(t, m1.status...).RoundTripper(w)}
		core, err := coreclient.NewForConfigAndClient(&rest.Config{Host: "https://cluster", QPS: -1}, client)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := core.ConfigMaps("x").Create(t.Context(), configMap("c"), metav1.CreateOptions{})
			done <- err
		}()
		after(30 * time.Second)
		if n := len(w.seen()); n != 2 {
			t.Errorf("sent %d times while leading", n)
		}
		m1.stop()
		after(time.Minute)
		if err := <-done; !errors.Is(err, fence.ErrNotLeading) || len(w.seen()) != 2 {
			t.Errorf("sent %v: %v", w.seen(), err)
		}
	}, "a")
}
