package bounded_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/internal/bounded"
)

var errDone = errors.New("done")

// TestCall checks for how long Call waits for functions that return in time, within the grace, and after it.
func TestCall(t *testing.T) {
	const lives, grace = time.Minute, 2 * time.Second
	for _, tt := range []struct {
		name         string
		takes, waits time.Duration
		want         error
	}{
		{"in time", time.Second, time.Second, errDone},
		{"within the grace", lives + time.Second, lives + time.Second, errDone},
		{"after the grace", time.Hour, lives + grace, bounded.ErrLeft},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), lives)
				defer cancel()
				err := bounded.Call(ctx, grace, func() error {
					time.Sleep(tt.takes)
					return errDone
				})
				if waited := time.Since(began); !errors.Is(err, tt.want) || waited != tt.waits {
					t.Errorf("got %v after %v, want %v after %v", err, waited, tt.want, tt.waits)
				}
				time.Sleep(tt.takes) // what was left behind ends before its bubble
			})
		})
	}
}
