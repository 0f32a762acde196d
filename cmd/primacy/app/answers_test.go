package app

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// handClock stands still until the test moves it.
type handClock struct{ now time.Duration }

func (c *handClock) Now() record.Instant { return record.Instant(c.now) }
func (c *handClock) Wall() time.Time     { return time.Unix(0, 0).Add(c.now) }

type tripper func() (*http.Response, error)

func (t tripper) RoundTrip(*http.Request) (*http.Response, error) { return t() }

func TestAnswers(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	c := &handClock{}
	var err error
	rt := newAnswers(c, 3*time.Second, zap.New(core)).over(tripper(func() (*http.Response, error) { return nil, err }))
	refused := errors.New("connection refused")
	for _, step := range []struct {
		at   time.Duration
		err  error
		said string
	}{
		{0, nil, ""},
		{2 * time.Second, refused, ""},
		{4 * time.Second, context.Canceled, ""},
		{5 * time.Second, refused, "the API server does not answer; work stops in time, except in elections that fail open"},
		{6 * time.Second, refused, ""},
		{9 * time.Second, nil, "the API server answers again"},
		{10 * time.Second, refused, ""},
		{13 * time.Second, refused, "the API server does not answer; work stops in time, except in elections that fail open"},
	} {
		c.now, err = step.at, step.err
		_, _ = rt.RoundTrip(nil) // only the call matters; the result comes from the wrapped transport
		said := ""
		for _, l := range logs.TakeAll() {
			said += l.Message
			if since, ok := l.ContextMap()["since"].(time.Time); ok && since.Unix() != map[time.Duration]int64{5 * time.Second: 0, 13 * time.Second: 9}[step.at] {
				t.Errorf("at %v: since %v", step.at, since)
			}
		}
		if said != step.said {
			t.Errorf("at %v: %q, want %q", step.at, said, step.said)
		}
	}
}
