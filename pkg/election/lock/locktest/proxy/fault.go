package proxy

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// Op names an operation of an API server.
type Op string

const (
	Get    Op = "get"
	List   Op = "list"
	Watch  Op = "watch"
	Create Op = "create"
	Update Op = "update"
	// Review asks about permissions, or about one's own identity.
	Review Op = "review"
	// Trial is a create that stores nothing.
	Trial Op = "trial"
	// Other is every other request, such as for the server's version.
	Other Op = "other"
)

// Ops lists all of them.
var Ops = []Op{Get, List, Watch, Create, Update, Review, Trial, Other}

// collections are the resources whose objects members read and write.
var collections = []string{"/leases", "/configmaps"}

func opOf(r *http.Request) Op {
	q := r.URL.Query()
	ofAll := false
	for _, c := range collections {
		ofAll = ofAll || strings.HasSuffix(r.URL.Path, c)
	}
	switch {
	case strings.Contains(r.URL.Path, "selfsubject"):
		return Review
	case q.Get("watch") == "true":
		return Watch
	case r.Method == http.MethodGet && ofAll:
		return List
	case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/namespaces/"):
		return Get
	case r.Method == http.MethodPost && q.Has("dryRun"):
		return Trial
	case r.Method == http.MethodPost:
		return Create
	case r.Method == http.MethodPut:
		return Update
	}
	return Other
}

// Fault decides what happens to a request: next lets the API server answer it.
type Fault func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc)

// Answer answers in the API server's place, as something on the way would; retryAfter is zero for none.
func Answer(status int, retryAfter time.Duration) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		if retryAfter > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(int(retryAfter/time.Second)))
		}
		http.Error(w, "bad weather", status)
	}
}

// HangUp ends the request without an answer.
func HangUp() Fault {
	return func(http.ResponseWriter, *http.Request, http.HandlerFunc) { panic(http.ErrAbortHandler) }
}

// Delay lets the API server answer after d, unless the member gives up before that.
func Delay(d time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		select {
		case <-clock.NewTimer(d).C:
			next(w, r)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// Times lets the fault act n times; later requests are answered as usual.
func Times(n int64, f Fault) Fault {
	var seen atomic.Int64
	return func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		if seen.Add(1) > n {
			next(w, r)
			return
		}
		f(w, r, next)
	}
}

// Under lets the fault act only on objects whose names begin with the prefix.
func Under(prefix string, f Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		if !strings.HasPrefix(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:], prefix) {
			next(w, r)
			return
		}
		f(w, r, next)
	}
}

// Of lets the fault act only on objects of one resource, such as configmaps.
func Of(resource string, f Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		if !strings.Contains(r.URL.Path+"/", "/"+resource+"/") {
			next(w, r)
			return
		}
		f(w, r, next)
	}
}

// LoseAnswers lets the API server carry the request out, but fails it for the member.
func LoseAnswers() Fault {
	return func(_ http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		if opOf(r) != Watch {
			next(httptest.NewRecorder(), r)
		}
		panic(http.ErrAbortHandler)
	}
}

// Stale answers reads and lists as a server that is behind its peers: with what the API server answered
// d ago or earlier, if it got the same request then.
func Stale(d time.Duration) Fault {
	type shown struct {
		at     time.Time
		answer *httptest.ResponseRecorder
	}
	var mu sync.Mutex
	all := map[string][]shown{}
	return func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		if op := opOf(r); op != Get && op != List {
			next(w, r)
			return
		}
		now := shown{time.Now(), httptest.NewRecorder()}
		next(now.answer, r)
		key := r.URL.RequestURI() + r.Header.Get("Accept")
		mu.Lock()
		all[key] = append(all[key], now)
		old := all[key][0]
		for _, s := range all[key] {
			if time.Since(s.at) >= d {
				old = s
			}
		}
		mu.Unlock()
		for name, values := range old.answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(old.answer.Code)
		_, _ = w.Write(old.answer.Body.Bytes())
	}
}
