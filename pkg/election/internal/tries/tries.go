// Package tries keeps why something failed that is tried until a context ends.
package tries

import (
	"context"
	"errors"
)

// Why keeps why the last try failed. The zero value knows of none. Only one goroutine may use it.
type Why struct{ last error }

// Failed notes why a try failed. If ctx has ended, that may be all that err says, so what failed before is kept as well.
func (w *Why) Failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		err = errors.Join(w.last, err)
	}
	w.last = err
}

// Mended forgets the last failure: a later try went well so far.
func (w *Why) Mended() { w.last = nil }

// Over is the error for a context that has ended: its cause, and why the last try failed.
func (w *Why) Over(ctx context.Context) error { return errors.Join(context.Cause(ctx), w.last) }
