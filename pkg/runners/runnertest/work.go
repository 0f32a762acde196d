//go:build linux

package runnertest

import (
	"context"
	"errors"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Act is what a piece of work does.
type Act string

const (
	// Obey: it reports "began <election> <identity> <revision> <token>", then "extended
	// <deadline>" for each extension, and when told to stop "stopping" before it ends.
	Obey Act = "obey"
	// Crash: it reports "began" and ends at once, with an error: a process with status 7.
	Crash Act = "crash"
	// Ignore: like Obey, but when told to stop it reports "ignored" and goes on.
	Ignore Act = "ignore"
	// Slow: it reports "starting", never gets ready, and ignores a stop.
	Slow Act = "slow"
	// Fork: like Obey, with a helper in its process group that holds its outputs open. It reports
	// "helper <pid>" before "began". The helper does not end when told to stop, and the work ends
	// only once the helper has been told too.
	Fork Act = "fork"
	// ForkCrash: with a helper like Fork's, it ends at once like Crash.
	ForkCrash Act = "fork-crash"
	// Forks: like Fork, with eight helpers.
	Forks Act = "forks"
	// Detach: like Obey, with a helper in a session of its own. The helper's parent has ended, and
	// nobody tells the helper to stop.
	Detach Act = "detach"
	// Flood: like Obey, but it writes to its outputs as fast as it can for as long as it exists. It
	// reports "flooded" once it has written more than any pipe holds.
	Flood Act = "flood"
	// Noise: it writes a line of 1 MiB, bytes that are no UTF-8 and a last line without
	// an end to its outputs, reports "noisy", and then is like Obey.
	Noise Act = "noise"
	// Deaf: like Obey, but it never looks at extensions.
	Deaf Act = "deaf"
	// Mob: it has a helper like Fork's and a helper like Detach's. Each of the three processes does
	// the work's Twist first, reports "began", and ignores a stop.
	Mob Act = "mob"
)

// Work is what a runner under test must do.
type Work struct {
	Act Act
	// Pipe is the path of the Stage's pipe.
	Pipe string
	// StopGrace is the runner's.
	StopGrace time.Duration
	// Twist is what each process of a Mob does first. Folder holds the files that twists execute.
	Twist  Twist
	Folder string
}

// ErrCrash is the error of a function that does Crash.
var ErrCrash = errors.New("crashed as it was told to")

// Run does the work as a function: Obey and Crash only.
func (w Work) Run(ctx context.Context, term election.Term) error {
	tell, err := Enter(w.Pipe)
	if err != nil {
		return err
	}
	defer tell.Leave()
	told, extended := term.Deadline()
	tell.Event("began %s %s %s %d", term.Election, term.Identity, term.Revision, term.Token)
	if w.Act == Crash {
		return ErrCrash
	}
	for {
		select {
		case <-ctx.Done():
			tell.Event("stopping")
			return nil
		case <-extended:
			var deadline record.Instant
			if deadline, extended = term.Deadline(); deadline > told {
				told = deadline
				tell.Event("extended %d", deadline)
			}
		}
	}
}
