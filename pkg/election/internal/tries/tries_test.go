package tries_test

import (
	"context"
	"errors"
	"testing"

	"github.com/primacy-dev/primacy/pkg/election/internal/tries"
)

// TestWhy checks that the end of a context does not hide why tries failed before, and that a mended failure is forgotten.
func TestWhy(t *testing.T) {
	first, second, cause := errors.New("first"), errors.New("second"), errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	var why, mended tries.Why
	why.Failed(ctx, first)
	why.Failed(ctx, second)
	mended.Failed(ctx, first)
	mended.Mended()
	cancel(cause)
	mended.Failed(ctx, ctx.Err())
	why.Failed(ctx, ctx.Err())
	for _, tt := range []struct {
		why   tries.Why
		err   error
		wraps bool
	}{{why, first, false}, {why, second, true}, {why, cause, true}, {mended, first, false}, {mended, cause, true}} {
		if got := tt.why.Over(ctx); errors.Is(got, tt.err) != tt.wraps {
			t.Errorf("%v wraps %v: %v", got, tt.err, !tt.wraps)
		}
	}
}
