package endpoints

import (
	"cmp"
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

const (
	// answerTime is how long an answer of the API server counts, as in k8s.io/apiserver.
	answerTime = 10 * time.Second
	// mostAnswers is how many answers that allow a Reviewer keeps, and how many that deny. It keeps the two apart, so
	// that a flood of bad tokens does not push good ones out.
	mostAnswers = 1024
	// reviewTime is how long the API server may take for one review.
	reviewTime = 10 * time.Second
	// reviewsPerSecond and reviewBurst bound what clients make us ask of the API server.
	reviewsPerSecond, reviewBurst = 20, 40
	// mostReviews is how many reviews may be under way, or wait for the bound on reviews a second.
	mostReviews = 64
)

// verdict is what the API server says of a token and a path.
type verdict int

const (
	allowed   verdict = iota + 1
	unknown           // it does not know the token
	forbidden         // the token's owner has no right to the path
)

func (v verdict) String() string {
	switch v {
	case allowed:
		return "allowed"
	case unknown:
		return "unknown"
	case forbidden:
		return "forbidden"
	}
	return fmt.Sprintf("verdict(%d)", int(v))
}

// Reviewer asks the API server whose token a request has (TokenReview), and whether its owner may read the path
// (SubjectAccessReview). It belongs to one Server.
type Reviewer struct {
	tokens authenticationclient.TokenReviewInterface
	rights authorizationclient.SubjectAccessReviewInterface
	clock  clock.Clock
	log    *zap.Logger
	asking singleflight.Group
	slots  chan struct{}
	// under are the reviews that are under way. The Server ends and joins them.
	under requests

	mu sync.Mutex
	// good are the answers that allow, and bad those that deny.
	good, bad answers
	failure   string // the reason why the last review failed; empty after an answer
}

// NewReviewer makes a Reviewer that asks as this process. It sends nothing yet.
func NewReviewer(of *rest.Config, c clock.Clock, log *zap.Logger) (*Reviewer, error) {
	own := rest.CopyConfig(of)
	own.QPS, own.Burst, own.RateLimiter = reviewsPerSecond, reviewBurst, nil
	own.Timeout = reviewTime
	tokens, err := apiserver.ClientFor(own, authenticationclient.NewForConfigAndClient)
	if err != nil {
		return nil, fmt.Errorf("client for reviews: %w", err)
	}
	rights, err := apiserver.ClientFor(own, authorizationclient.NewForConfigAndClient)
	if err != nil {
		return nil, fmt.Errorf("client for reviews: %w", err)
	}
	return &Reviewer{
		tokens: tokens.TokenReviews(), rights: rights.SubjectAccessReviews(), clock: c, log: log, slots: make(chan struct{}, mostReviews),
		good: newAnswers(), bad: newAnswers(),
	}, nil
}

// review returns the verdict on a request, whose context is ctx. Others may wait for the same review, so that goes on after the request,
// until alive ends.
func (r *Reviewer) review(ctx, alive context.Context, token, verb, path string) (verdict, error) {
	sum := sha256.Sum256([]byte(token)) // no token is kept
	key := string(sum[:]) + verb + " " + path
	if v, known := r.known(key); known {
		return v, nil
	}
	answered := r.asking.DoChan(key, func() (any, error) {
		if !r.under.begin() {
			return verdict(0), context.Canceled
		}
		defer r.under.over()
		select {
		case r.slots <- struct{}{}:
			defer func() { <-r.slots }()
		default:
			return verdict(0), errBusy
		}
		asking, cancel := context.WithTimeout(alive, reviewTime)
		defer cancel()
		v, err := r.ask(asking, token, verb, path)
		if alive.Err() == nil { // else this member stops, and the error says no more
			r.note(err)
		}
		if err == nil {
			r.keep(key, v)
		}
		return v, err
	})
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case a := <-answered:
		if a.Err != nil {
			return 0, a.Err
		}
		return a.Val.(verdict), nil
	}
}

// errBusy: too many reviews are under way.
var errBusy = errors.New("too many tokens to review at a time")

func (r *Reviewer) ask(ctx context.Context, token, verb, path string) (verdict, error) {
	who, err := r.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("token review: %w", err)
	}
	if !who.Status.Authenticated {
		return unknown, nil
	}
	user := who.Status.User
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	may, err := r.rights.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: verb},
	}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("subject access review: %w", err)
	}
	if !may.Status.Allowed {
		return forbidden, nil
	}
	return allowed, nil
}

// note logs a failure, unless the review before failed for the same reason.
func (r *Reviewer) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.failure
	r.failure = ""
	if err == nil {
		return
	}
	r.failure = cmp.Or(string(apierrors.ReasonForError(err)), "no answer")
	if r.failure != before {
		r.log.Warn("the API server does not say who may read the endpoints, so nobody may (is manifests/endpoints.yaml applied?)", zap.Error(err))
	}
}

func (r *Reviewer) known(key string) (verdict, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	for _, some := range []answers{r.good, r.bad} {
		if a, is := some.of[key]; is {
			if one := a.Value.(*answer); now < one.until {
				return one.verdict, true
			}
		}
	}
	return 0, false
}

func (r *Reviewer) keep(key string, v verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.good.drop(key)
	r.bad.drop(key)
	to := r.bad
	if v == allowed {
		to = r.good
	}
	to.keep(&answer{key, v, r.clock.Now().Add(answerTime)})
}

// answer is what the API server said.
type answer struct {
	key     string
	verdict verdict
	until   record.Instant
}

// answers are those that a Reviewer keeps, oldest first.
type answers struct {
	of  map[string]*list.Element
	all *list.List
}

func newAnswers() answers { return answers{map[string]*list.Element{}, list.New()} }

func (a answers) drop(key string) {
	if one, is := a.of[key]; is {
		delete(a.of, key)
		a.all.Remove(one)
	}
}

func (a answers) keep(one *answer) {
	if a.all.Len() >= mostAnswers {
		a.drop(a.all.Front().Value.(*answer).key)
	}
	a.of[one.key] = a.all.PushBack(one)
}

// guard lets requests through to h if their sender may read the path.
func (s *Server) guard(h http.Handler) http.Handler {
	switch {
	case s.cfg.HTTP.Access == config.AccessOpen && s.cfg.HTTP.Loopback():
		return byAddress(h)
	case s.certificate == nil && !s.cfg.HTTP.Loopback():
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no token may be sent here, since it could be read on the way (set http.tls)", http.StatusForbidden)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, is := bearer(r)
		if !is {
			unauthorized(w)
			return
		}
		switch v, err := s.cfg.Reviewer.review(r.Context(), s.alive, token, strings.ToLower(r.Method), reviewed(r.URL.Path)); {
		case errors.Is(err, errBusy):
			turnAway(w, errBusy.Error()+"; try again")
		case err != nil:
			turnAway(w, "the API server cannot be asked who may read this; try again")
		case v == allowed:
			h.ServeHTTP(w, r)
		case v == forbidden:
			http.Error(w, "this token has no right to "+reviewed(r.URL.Path)+" (nonResourceURLs of a ClusterRole give it)", http.StatusForbidden)
		default:
			unauthorized(w)
		}
	})
}

// byAddress lets requests through that name this machine by its address, and that no browser sends for a page of another site. A web page
// could make a name of its own mean this machine, and have the browser of its visitor ask us (DNS rebinding); or just have it ask, unread.
func byAddress(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err != nil && !strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
			http.Error(w, "ask by an IP address or as localhost, not by another name", http.StatusForbidden)
			return
		}
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
			http.Error(w, "no page of another site may ask", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// reviewed is the path to which a client needs the right. Kubernetes' role system:discovery gives every owner of a token
// the right to get all paths below /api, so ours get a name of their own.
func reviewed(path string) string {
	if strings.HasPrefix(path, "/api/") {
		return "/primacy" + path
	}
	return path
}

func unauthorized(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	http.Error(w, "send a token that the API server knows (Authorization: Bearer TOKEN)", http.StatusUnauthorized)
}

// bearer is the token that a request carries.
func bearer(r *http.Request) (token string, is bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}
