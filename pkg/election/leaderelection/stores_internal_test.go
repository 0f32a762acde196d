package leaderelection

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestALongPauseIsSaidAtOnce checks that the store refuses a take at once if the take would have to wait past the deadline of
// its request, and says how long to wait. The store did not send the take, so its outcome is known.
func TestALongPauseIsSaidAtOnce(t *testing.T) {
	freed := record.Version{UID: "u", Revision: 7}
	s := &store{pause: time.Hour, turn: make(chan struct{}, 1), freed: freed, freedAt: clock.Boottime().Now()}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := s.Put(ctx, "a", record.Record{}, freed)
	throttled, is := errors.AsType[*lock.ThrottledError](err)
	if !is || lock.OutcomeOf(err) == lock.Unknown {
		t.Fatal(err)
	}
	if left := throttled.RetryAfter; left > time.Hour || left <= time.Minute {
		t.Errorf("try again in %v", left)
	}
}
