package lease

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/scripted"
)

const (
	list5    = `{"kind":"LeaseList","apiVersion":"coordination.k8s.io/v1","metadata":{"resourceVersion":"5"}}`
	list9    = `{"kind":"LeaseList","apiVersion":"coordination.k8s.io/v1","metadata":{"resourceVersion":"9"}}`
	change6  = `{"type":"MODIFIED","object":{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"a","uid":"u","resourceVersion":"6"}}}`
	gone7    = `{"type":"DELETED","object":{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"a","uid":"u","resourceVersion":"7"}}}`
	mark8    = `{"type":"BOOKMARK","object":{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"resourceVersion":"8"}}}`
	expired  = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}`
	stumbles = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500}}`
)

// streamOf answers with a watch that shows the events; then the server closes it.
func streamOf(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.Join(events, "\n"))
	}
}

// talk runs a watch against a server that gives these answers, in this order. It returns the requests
// that the server got and the events that the watch showed. The watch ends when the answers do.
func talk(t *testing.T, answers ...http.HandlerFunc) (asked, shown []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var mu sync.Mutex
	s, _ := answering(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if len(answers) == 0 {
			cancel()
			<-r.Context().Done()
			return
		}
		q := r.URL.Query()
		what := "list"
		if q.Get("watch") != "" {
			what = "watch " + q.Get("resourceVersion")
			if q.Get("allowWatchBookmarks") != "true" || q.Get("timeoutSeconds") == "" {
				t.Errorf("asked for %s", r.URL)
			}
		} else if q.Has("resourceVersion") {
			t.Errorf("a list that need not be consistent: %s", r.URL)
		} else if q.Get("continue") != "" {
			what = "list on"
		}
		asked = append(asked, what)
		answers[0](w, r)
		answers = answers[1:]
	})
	err := s.Watch(ctx, func(e lock.Event) {
		line := e.Kind.String()
		if e.Kind == lock.Broken {
			for name, sentinel := range map[string]error{"denied": lock.ErrDenied, "throttled": lock.ErrThrottled, "unknown": lock.ErrUnknown} {
				if errors.Is(e.Err, sentinel) {
					line += " " + name
				}
			}
		}
		shown = append(shown, line)
	})
	if err != nil {
		t.Errorf("Watch returned %v", err)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("not all was asked; so far %v, %v", asked, shown)
	}
	return asked, shown
}

func TestWatchTalk(t *testing.T) {
	for what, c := range map[string]struct {
		answers      []http.HandlerFunc
		asked, shown string
	}{
		"resume": {
			[]http.HandlerFunc{scripted.OK(list5), streamOf(change6, gone7), streamOf(mark8), streamOf(stumbles)},
			"list, watch 5, watch 7, watch 8",
			"listing, listed, resumed, changed, changed, broken unknown, resumed, progressed, broken unknown",
		},
		"expired in an event": {
			[]http.HandlerFunc{scripted.OK(list5), streamOf(change6, expired), scripted.OK(list9)},
			"list, watch 5, list",
			"listing, listed, resumed, changed, broken unknown, listing, listed",
		},
		"expired in the status": {
			[]http.HandlerFunc{scripted.OK(list5), scripted.Says(410, metav1.StatusReasonGone, "", nil), scripted.OK(list9)},
			"list, watch 5, list",
			"listing, listed, broken unknown, listing, listed",
		},
		"denied": {
			[]http.HandlerFunc{scripted.Says(403, metav1.StatusReasonForbidden, "", nil), scripted.OK(list5), scripted.Says(401, metav1.StatusReasonUnauthorized, "", nil), scripted.Says(404, metav1.StatusReasonNotFound, "", nil)},
			"list, list, watch 5, watch 5",
			"listing, broken denied, listing, listed, broken denied, broken denied",
		},
		"throttled": {
			[]http.HandlerFunc{scripted.Plain(429, "1"), scripted.OK(list5), scripted.HangUp},
			"list, list, watch 5",
			"listing, broken throttled, listing, listed, broken unknown",
		},
		"pages, the second of which has expired": {
			[]http.HandlerFunc{
				scripted.OK(`{"kind":"LeaseList","apiVersion":"coordination.k8s.io/v1","metadata":{"resourceVersion":"5","continue":"c"}}`),
				scripted.Says(410, metav1.StatusReasonExpired, "", nil), scripted.OK(list9), streamOf(change6),
			},
			"list, list on, list, watch 9",
			"listing, progressed, listed, resumed, changed, broken unknown",
		},
		"an object without a version": {
			[]http.HandlerFunc{scripted.OK(list5), streamOf(`{"type":"ADDED","object":{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"a"}}}`)},
			"list, watch 5",
			"listing, listed, resumed, broken unknown",
		},
	} {
		t.Run(what, func(t *testing.T) {
			asked, shown := talk(t, c.answers...)
			tidy := func(s []string) string { return strings.Join(slices.Compact(s), ", ") }
			if got := tidy(asked); got != tidy(strings.Split(c.asked, ", ")) {
				t.Errorf("asked %s, want %s", got, c.asked)
			}
			// Two things depend on luck: whether a stream that fails at once still counts as opened, and
			// whether the last answer is still seen.
			sure := func(s []string) string {
				s = slices.DeleteFunc(s, func(s string) bool { return s == "resumed" })
				return strings.TrimSuffix(tidy(s), ", broken unknown")
			}
			if got, want := sure(shown), sure(strings.Split(c.shown, ", ")); got != want {
				t.Errorf("shown %s, want %s", got, want)
			}
		})
	}
}

// TestWatchLeavesNothing checks that client-go's goroutine has ended when Watch has returned. On one
// processor, a goroutine that was only told to end would still be there.
func TestWatchLeavesNothing(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s, _ := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			scripted.OK(list5)(w, r)
			return
		}
		streamOf(change6)(w, r)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		err := s.Watch(ctx, func(e lock.Event) {
			if e.Kind == lock.Changed {
				cancel()
			}
		})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		stacks := make([]byte, 1<<20)
		if stacks = stacks[:runtime.Stack(stacks, true)]; bytes.Contains(stacks, []byte("StreamWatcher")) {
			t.Fatalf("a goroutine outlives the watch:\n%s", stacks)
		}
	}
}
