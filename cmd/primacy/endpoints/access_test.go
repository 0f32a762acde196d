package endpoints

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/primacy-dev/primacy/config"
)

// authority knows the token "good", and gives it the right to /metrics.
type authority struct {
	authenticationclient.TokenReviewInterface
	asked  atomic.Int64
	fails  atomic.Pointer[error]
	begun  chan struct{} // has a value for each review; nil for none
	waits  chan struct{} // reviews wait until it is closed; nil for not at all
	denies atomic.Bool
}

func (a *authority) Create(_ context.Context, r *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	a.asked.Add(1)
	if a.waits != nil {
		a.begun <- struct{}{}
		<-a.waits
	}
	if err := a.fails.Load(); err != nil {
		return nil, *err
	}
	r.Status.Authenticated = r.Spec.Token == "good"
	r.Status.User.Username = "ann"
	return r, nil
}

type rights struct {
	authorizationclient.SubjectAccessReviewInterface
	of *authority
}

func (a rights) Create(_ context.Context, r *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	s := r.Spec
	r.Status.Allowed = s.User == "ann" && *s.NonResourceAttributes == authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"} && !a.of.denies.Load()
	return r, nil
}

func newAuthority() (*authority, *Reviewer, *ahead, *observer.ObservedLogs) {
	a, c := &authority{}, &ahead{}
	core, logs := observer.New(zap.WarnLevel)
	return a, &Reviewer{
		tokens: a, rights: rights{of: a}, clock: c, log: zap.New(core), slots: make(chan struct{}, mostReviews), good: newAnswers(), bad: newAnswers(),
	}, c, logs
}

func reviews(t *testing.T, r *Reviewer, token, path string) verdict {
	t.Helper()
	v, err := r.review(t.Context(), t.Context(), token, "get", path)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestWhoStopsBlamesNobody checks that a review which ends because the member stops is no failure of the API server.
func TestWhoStopsBlamesNobody(t *testing.T) {
	a, r, _, logs := newAuthority()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	err := ctx.Err()
	a.fails.Store(&err)
	if _, got := r.review(t.Context(), ctx, "good", "get", "/metrics"); !errors.Is(got, context.Canceled) || logs.Len() != 0 {
		t.Errorf("%v; logged %v", got, logs.All())
	}
}

// TestAnswersAreKept checks that an answer counts for a while and no longer, for its token and its path only.
func TestAnswersAreKept(t *testing.T) {
	a, r, clock, _ := newAuthority()
	for range 3 {
		for _, c := range []struct {
			token, path string
			want        verdict
		}{{"good", "/metrics", allowed}, {"good", "/debug/pprof/", forbidden}, {"bad", "/metrics", unknown}} {
			if got := reviews(t, r, c.token, c.path); got != c.want {
				t.Errorf("%s, %s: %v, want %v", c.token, c.path, got, c.want)
			}
		}
	}
	if n := a.asked.Load(); n != 3 {
		t.Errorf("the API server was asked %d times, want 3", n)
	}
	a.denies.Store(true)
	if reviews(t, r, "good", "/metrics") != allowed {
		t.Error("the answer does not count any more")
	}
	clock.by.Add(int64(answerTime))
	if reviews(t, r, "good", "/metrics") != forbidden {
		t.Error("an answer counts for too long")
	}
}

// TestFloodOfTokens checks that what is kept is bounded, and that bad tokens do not push good ones out.
func TestFloodOfTokens(t *testing.T) {
	a, r, _, _ := newAuthority()
	reviews(t, r, "good", "/metrics")
	for i := range 3 * mostAnswers {
		reviews(t, r, fmt.Sprint("bad-", i), "/metrics")
	}
	if n, m := len(r.bad.of), r.bad.all.Len(); n != mostAnswers || m != mostAnswers {
		t.Errorf("%d and %d answers are kept", n, m)
	}
	before := a.asked.Load()
	reviews(t, r, "good", "/metrics")
	if a.asked.Load() != before {
		t.Error("the answer for a good token was dropped")
	}
}

// TestOneReviewForAll checks that clients with the same token share one review, and that others are turned away once
// too many reviews are under way.
func TestOneReviewForAll(t *testing.T) {
	a, r, _, _ := newAuthority()
	a.begun, a.waits = make(chan struct{}, 10*mostReviews), make(chan struct{})
	const clients = 1000
	var wg sync.WaitGroup
	var good atomic.Int64
	for range clients {
		wg.Go(func() {
			if v, err := r.review(context.Background(), context.Background(), "good", "get", "/metrics"); err == nil && v == allowed {
				good.Add(1)
			}
		})
	}
	<-a.begun
	turned := make(chan struct{}, 10*mostReviews)
	for i := range 10 * mostReviews {
		wg.Go(func() {
			if _, err := r.review(context.Background(), context.Background(), fmt.Sprint("bad-", i), "get", "/metrics"); errors.Is(err, errBusy) {
				turned <- struct{}{}
			}
		})
	}
	for range 9*mostReviews + 1 { // one review is that of the good token
		<-turned
	}
	if n := a.asked.Load(); n > mostReviews {
		t.Errorf("%d reviews are under way", n)
	}
	close(a.waits)
	wg.Wait()
	if good.Load() != clients {
		t.Errorf("%d of %d clients with the good token were let in", good.Load(), clients)
	}
}

// TestAReviewOutlivesItsRequest checks that a request which is gone waits for no review, and that another one gets its answer.
func TestAReviewOutlivesItsRequest(t *testing.T) {
	a, r, _, _ := newAuthority()
	a.begun, a.waits = make(chan struct{}, 1), make(chan struct{})
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() { // ends before the test does
		_, err := r.review(ctx, t.Context(), "good", "get", "/metrics")
		gone <- err
	}()
	<-a.begun
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(a.waits)
	if reviews(t, r, "good", "/metrics") != allowed || a.asked.Load() != 1 {
		t.Errorf("%d reviews", a.asked.Load())
	}
	r.under.end()
}

// TestNobodyMayWithoutAnAnswer checks that a client is turned away while the API server gives no answer, that each kind of
// failure is logged once, and that none is kept.
func TestNobodyMayWithoutAnAnswer(t *testing.T) {
	a, r, _, logs := newAuthority()
	away, denied := errors.New("away"), apierrors.NewForbidden(authenticationv1.Resource("tokenreviews"), "", errors.New("no such right"))
	for _, c := range []struct {
		err    error
		logged int // lines so far
	}{{away, 1}, {errors.New("still away"), 1}, {denied, 2}, {denied, 2}, {away, 3}} {
		a.fails.Store(&c.err)
		if v, err := r.review(t.Context(), t.Context(), "good", "get", "/metrics"); !errors.Is(err, c.err) {
			t.Errorf("got %v, %v", v, err)
		}
		if logs.Len() != c.logged {
			t.Errorf("with %v there are %d lines; want %d", c.err, logs.Len(), c.logged)
		}
	}
	a.fails.Store(nil)
	if reviews(t, r, "good", "/metrics") != allowed {
		t.Error("the failure was kept")
	}
	a.fails.Store(&away)
	if v, err := r.review(t.Context(), t.Context(), "other", "get", "/metrics"); err == nil || logs.Len() != 4 {
		t.Errorf("after an answer: %v, %v; %d lines", v, err, logs.Len())
	}
}

// TestTooManyTokens checks that a client that is turned away since others have too many tokens reviewed hears that.
func TestTooManyTokens(t *testing.T) {
	_, r, _, logs := newAuthority()
	for range mostReviews {
		r.slots <- struct{}{}
	}
	s := &Server{cfg: Config{HTTP: config.HTTP{Address: "127.0.0.1:0", Access: config.AccessToken}, Reviewer: r}, alive: t.Context()}
	request, answer := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil), httptest.NewRecorder()
	request.Header.Set("Authorization", "Bearer good")
	s.guard(http.NotFoundHandler()).ServeHTTP(answer, request)
	if answer.Code != http.StatusServiceUnavailable || !strings.Contains(answer.Body.String(), errBusy.Error()) || logs.Len() != 0 {
		t.Errorf("%d: %s; %d lines were logged", answer.Code, answer.Body, logs.Len())
	}
}

// TestGuard checks who is let through where.
func TestGuard(t *testing.T) {
	encrypted := &certificate{}
	for name, c := range map[string]struct {
		http        config.HTTP
		certificate *certificate
		token       string
		want        int
		host        string // 127.0.0.1:9090 if empty
	}{
		"open on loopback":                 {config.HTTP{Address: "127.0.0.1:0", Access: config.AccessOpen}, nil, "", 200, ""},
		"as localhost":                     {config.HTTP{Address: "127.0.0.1:0", Access: config.AccessOpen}, nil, "", 200, "localhost:9090"},
		"as LocalHost.":                    {config.HTTP{Address: "127.0.0.1:0", Access: config.AccessOpen}, nil, "", 200, "LocalHost.:9090"},
		"by an address of version 6":       {config.HTTP{Address: "[::1]:0", Access: config.AccessOpen}, nil, "", 200, "[::1]:9090"},
		"by the name of a web page":        {config.HTTP{Address: "127.0.0.1:0", Access: config.AccessOpen}, nil, "", 403, "evil.example"},
		"by its name with a port":          {config.HTTP{Address: "127.0.0.1:0", Access: config.AccessOpen}, nil, "", 403, "127.0.0.1.evil.example:9090"},
		"open elsewhere is not open":       {config.HTTP{Address: ":0", Access: config.AccessOpen}, encrypted, "", 401, ""},
		"a token on loopback":              {config.HTTP{Address: "[::1]:0", Access: config.AccessToken}, nil, "Bearer good", 200, ""},
		"no token on loopback":             {config.HTTP{Address: "127.0.0.1:0", Access: config.AccessToken}, nil, "", 401, ""},
		"a token elsewhere":                {config.HTTP{Address: ":0", Access: config.AccessToken}, encrypted, "bearer good", 200, ""},
		"a token that could be read":       {config.HTTP{Address: ":0", Access: config.AccessToken}, nil, "Bearer good", 403, ""},
		"an unknown token":                 {config.HTTP{Address: ":0", Access: config.AccessToken}, encrypted, "Bearer bad", 401, ""},
		"an empty token":                   {config.HTTP{Address: ":0", Access: config.AccessToken}, encrypted, "Bearer ", 401, ""},
		"a password":                       {config.HTTP{Address: ":0", Access: config.AccessToken}, encrypted, "Basic Z29vZDpnb29k", 401, ""},
		"the token without its scheme":     {config.HTTP{Address: ":0", Access: config.AccessToken}, encrypted, "good", 401, ""},
		"loopback of another machine's IP": {config.HTTP{Address: "10.0.0.1:0", Access: config.AccessOpen}, nil, "", 403, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, r, _, _ := newAuthority()
			s := &Server{cfg: Config{HTTP: c.http, Reviewer: r}, certificate: c.certificate, alive: t.Context()}
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
			if request.Host = "127.0.0.1:9090"; c.host != "" {
				request.Host = c.host
			}
			request.RemoteAddr = "127.0.0.1:1" // whoever it comes from, the address that is served counts
			if c.token != "" {
				request.Header.Set("Authorization", c.token)
			}
			w := httptest.NewRecorder()
			s.guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, request)
			if w.Code != c.want {
				t.Errorf("%d %s, want %d", w.Code, w.Body, c.want)
			}
			if asks := w.Header().Get("WWW-Authenticate") == "Bearer"; asks != (c.want == http.StatusUnauthorized) {
				t.Errorf("it asks for a token: %v", asks)
			}
		})
	}
}

// TestNoPageMayAsk checks that a browser gets nothing for a page of another site, not even work that it cannot see.
func TestNoPageMayAsk(t *testing.T) {
	s := &Server{cfg: Config{HTTP: config.HTTP{Address: "127.0.0.1:0", Access: config.AccessOpen}}}
	for site, want := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 200, "none": 200, "": 200} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
		request.Host = "127.0.0.1:9090"
		request.Header.Set("Sec-Fetch-Site", site)
		w := httptest.NewRecorder()
		s.guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, request)
		if w.Code != want {
			t.Errorf("%q: %d, want %d", site, w.Code, want)
		}
	}
}

// TestPathsOfOurOwn checks that the right to a path of ours is none that Kubernetes gives to everybody.
func TestPathsOfOurOwn(t *testing.T) {
	for path, want := range map[string]string{
		"/metrics": "/metrics", "/debug/pprof/heap": "/debug/pprof/heap",
		"/api/v1/elections": "/primacy/api/v1/elections", "/api/v1/events": "/primacy/api/v1/events",
	} {
		if got := reviewed(path); got != want {
			t.Errorf("%s is reviewed as %s, want %s", path, got, want)
		}
	}
}
