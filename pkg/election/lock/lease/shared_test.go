package lease

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/scripted"
)

// TestStreamsOfManyNames checks that a few names are watched one by one, and many through one stream, which shows these
// names alone.
func TestStreamsOfManyNames(t *testing.T) {
	const object = `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":%q,"uid":"u","resourceVersion":"5"}}`
	for n, streams := range map[int]int32{1: 1, MostStreams: MostStreams, MostStreams + 1: 1, 1000: 1} {
		var watches atomic.Int32
		address, _ := scripted.Server(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			selector := r.URL.Query().Get("fieldSelector")
			if one := n <= MostStreams; one != (selector != "") {
				t.Errorf("%d names: asked for %q", n, selector)
			}
			if r.URL.Query().Get("watch") == "" {
				items := []string{fmt.Sprintf(object, strings.TrimPrefix(selector, "metadata.name="))}
				if selector == "" {
					items = []string{fmt.Sprintf(object, "name-0"), fmt.Sprintf(object, "a-stranger")}
				}
				fmt.Fprintf(w, `{"kind":"LeaseList","apiVersion":"coordination.k8s.io/v1","metadata":{"resourceVersion":"7"},"items":[%s]}`, strings.Join(items, ","))
				return
			}
			watches.Add(1)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("name-%d", i))
		}
		ctx, cancel := context.WithCancel(t.Context())
		err := Shared(newClient(t, &rest.Config{Host: address}), "kube-system").WatchNames(ctx, names, func(e lock.Event) {
			switch e.Kind {
			case lock.Listed:
				for _, l := range e.List {
					if l.Name == "a-stranger" {
						t.Errorf("%d names: the list shows another", n)
					}
				}
			case lock.Resumed:
				cancel()
			}
		})
		cancel()
		if err != nil || watches.Load() != streams {
			t.Errorf("%d names: %d streams, want %d; %v", n, watches.Load(), streams, err)
		}
	}
}
