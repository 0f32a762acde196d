package leaderelection

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// TestALongPauseIsSaidAtOnce checks that a take that must wait for longer than its request may last is refused at once, with
// the time that is left: it was not sent, so its outcome is known, and the next one is in time.
func TestALongPauseIsSaidAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		freed := record.Version{UID: "u", Revision: 7}
		s := &store{pause: time.Hour, turn: make(chan struct{}, 1), freed: freed, freedAt: clock.Boottime().Now()}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		_, err := s.Put(ctx, "a", record.Record{}, freed)
		throttled, is := errors.AsType[*lock.ThrottledError](err)
		if took := time.Since(began); !is || lock.OutcomeOf(err) == lock.Unknown || took != 0 {
			t.Fatalf("after %v: %v", took, err)
		}
		if left := throttled.RetryAfter; left > time.Hour || left < time.Hour-time.Minute {
			t.Errorf("try again in %v", left)
		}
	})
}
