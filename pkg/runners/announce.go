package runners

import (
	"context"

	"github.com/primacy-dev/primacy/pkg/election"
)

// Announcer is what a runner may be as well: its runs can tell when they are up. The runners
// after it in an election's list start only then; those after another one, as soon as that
// was started.
type Announcer interface {
	election.Runner
	// RunAnnounced is Run, and calls up when the work is up: at most once, from any
	// goroutine, before it returns.
	RunAnnounced(ctx context.Context, term election.Term, up func()) error
}

// AnnouncedFunc is a function as an Announcer.
type AnnouncedFunc func(ctx context.Context, term election.Term, up func()) error

// Run calls f.
func (f AnnouncedFunc) Run(ctx context.Context, term election.Term) error {
	return f(ctx, term, func() {})
}

// RunAnnounced calls f.
func (f AnnouncedFunc) RunAnnounced(ctx context.Context, term election.Term, up func()) error {
	return f(ctx, term, up)
}
