package runners

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// Decoder makes a runner from its block in the configuration: for
// `{name: writer, exec: {command: [...]}}` it gets the value of exec. It decodes
// strictly; its errors carry the place (strict.Error).
//
// The runner it makes may be run for many terms, one after the other.
type Decoder func(node *yaml.Node, env Env) (election.Runner, error)

// Env is what a Decoder gets besides the block.
type Env struct {
	// Election is the election's name. Runner is the runner's name; Registry.Decode sets it.
	Election, Runner string
	// StopGrace is the election's. A runner's own may be shorter, never longer.
	StopGrace time.Duration
	// Clock reads CLOCK_BOOTTIME; nil means the real one.
	Clock clock.Clock
	// Log is for the runner's messages; nil for none.
	Log *zap.Logger
	// Missing is called with what the runner needs and this machine lacks, such as its program, as a
	// strict.Error; it may be nil. A missing program does not make the block wrong: the runner may
	// run elsewhere, or later.
	Missing func(error)
	// Weaker is called with what holds less here than it may elsewhere, such as a limit, as a strict.Error; it may be nil.
	// The runner works nevertheless.
	Weaker func(error)
	// Later takes a slow check, such as whether a program answers. The caller runs it after the
	// decoding, at the same time as the checks of other runners. If Later is nil, the Decoder runs
	// the check itself.
	Later func(Probe)
}

// Probe checks a block and returns what is wrong, as a strict.Error. It returns soon after ctx ends.
type Probe func(ctx context.Context) error

// Defaults returns env with defaults for its nil fields.
func (env Env) Defaults() Env {
	if env.Clock == nil {
		env.Clock = clock.Boottime()
	}
	if env.Log == nil {
		env.Log = zap.NewNop()
	}
	if env.Missing == nil {
		env.Missing = func(error) {}
	}
	if env.Weaker == nil {
		env.Weaker = func(error) {}
	}
	return env
}

// Child is one runner of an election under its name.
type Child struct {
	Name string
	// Kind is the name of its kind, for logs and metrics; empty if it has none.
	Kind   string
	Runner election.Runner
	// OnExit says what follows when it ends before its term. Empty means ExitRestart.
	OnExit OnExit
}

// ErrDeadline is wrapped by a runner that stopped, or did not start, because its term's
// deadline came without an extension. The supervision does not count it as a failure.
var ErrDeadline = errors.New("the term's deadline came without an extension")

// ErrSlowStart is wrapped by a runner whose work did not begin by the deadline that its term had when the run began,
// though the term was extended meanwhile. The supervision counts it as a failure, however long the start took: nobody may
// hold the lock for work that never begins.
var ErrSlowStart = errors.New("it did not begin in time, though its term was extended (does the file system of the program answer? is this machine too busy?)")

// Late returns the error of a run whose work did not begin by the deadline that the term had when the run began:
// ErrSlowStart if the term was extended meanwhile, otherwise ErrDeadline.
func Late(term election.Term, deadline record.Instant) error {
	if now, _ := term.Deadline(); now > deadline {
		return ErrSlowStart
	}
	return ErrDeadline
}

// Log returns log with the fields that every line about a runner carries.
func Log(log *zap.Logger, term election.Term, runner string) *zap.Logger {
	return log.With(
		zap.String("election", term.Election),
		zap.String("identity", term.Identity),
		zap.String("revision", term.Revision),
		zap.Uint64("term", uint64(term.Token)),
		zap.String("runner", runner),
	)
}
