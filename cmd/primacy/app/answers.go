package app

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// answers logs once when the API server stops answering, and once when it answers again. All requests
// of a member go through its transport. Any answer counts, even a refusal.
type answers struct {
	clock clock.Clock
	// patience is how long requests may fail before answers logs the outage.
	patience time.Duration
	log      *zap.Logger

	mu sync.Mutex
	// last is when the last answer came; since is the same moment in wall-clock time.
	last  record.Instant
	since time.Time
	away  bool
}

func newAnswers(c clock.Clock, patience time.Duration, log *zap.Logger) *answers {
	return &answers{clock: c, patience: patience, log: log, last: c.Now(), since: c.Wall()}
}

// over wraps a transport and passes the outcome of each request to heed.
func (a *answers) over(rt http.RoundTripper) http.RoundTripper { return &heeded{rt, a} }

// heed records how a request ended.
func (a *answers) heed(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	silent := a.clock.Now().Sub(a.last)
	switch {
	case err == nil:
		if a.away {
			a.log.Info("the API server answers again", zap.Duration("after", silent))
		}
		a.last, a.since, a.away = a.clock.Now(), a.clock.Wall(), false
	case errors.Is(err, context.Canceled): // we cancelled it: no sign of an outage
	case !a.away && silent > a.patience:
		a.away = true
		a.log.Warn("the API server does not answer; work stops in time, except in elections that fail open",
			zap.Time("since", a.since), zap.Duration("silent", silent), zap.Error(err))
	}
}

// heeded is a transport that reports to answers.
type heeded struct {
	http.RoundTripper
	answers *answers
}

var _ utilnet.RoundTripperWrapper = (*heeded)(nil)

// RoundTrip implements http.RoundTripper.
func (h *heeded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := h.RoundTripper.RoundTrip(r)
	h.answers.heed(err)
	return resp, err
}

// WrappedRoundTripper is the transport beneath.
func (h *heeded) WrappedRoundTripper() http.RoundTripper { return h.RoundTripper }
