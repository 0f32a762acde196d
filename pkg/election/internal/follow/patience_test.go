package follow_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/internal/follow"
	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// slow is a source with slow answers.
type slow struct{ list, open time.Duration }

func (s *slow) List(ctx context.Context, _ func()) (follow.List, error) {
	return follow.List{Revision: 5}, pass(ctx, &s.list)
}

func (s *slow) Open(ctx context.Context, _ uint64) (follow.Stream, error) {
	if err := pass(ctx, &s.open); err != nil {
		return nil, err
	}
	return &stream{script: &script{}, step: step{lives: time.Hour}}, nil
}

// pass waits for d, the first time only. As of a real store, the error says nothing of why ctx ended first.
func pass(ctx context.Context, d *time.Duration) error {
	is := *d
	*d = 0
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-clock.NewTimer(is).C:
		return nil
	}
}

// TestSlowAnswers checks that Run delivers Listing when it requests a list, not when the answer comes: the
// list may lack what was stored meanwhile. If no answer comes, Run must give up and request again.
func TestSlowAnswers(t *testing.T) {
	for _, c := range []struct {
		what   string
		source slow
		want   string
	}{
		{"a list takes 3 s", slow{list: 3 * time.Second}, "0 listing; 3000 listed 5; 3000 resumed"},
		{"a list hangs", slow{list: 24 * time.Hour}, "0 listing; 30000 broken hung; 30000 listing; 30000 listed 5; 30000 resumed"},
		{"an opening takes 3 s", slow{open: 3 * time.Second}, "0 listing; 0 listed 5; 3000 resumed"},
		{"an opening hangs", slow{open: 24 * time.Hour}, "0 listing; 0 listed 5; 30000 broken hung; 30000 resumed"},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				var got []string
				follow.Run(ctx, &c.source, follow.DefaultPace(), func(e lock.Event) {
					if e.Kind == lock.Broken && errors.Is(e.Err, lock.ErrUnknown) && strings.Contains(e.Err.Error(), "no answer within 30s") {
						e.Err = errHung
					}
					got = append(got, line(time.Since(start), e))
				})
				if got := strings.Join(got, "; "); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			})
		})
	}
}

var errHung = errors.New("hung")
