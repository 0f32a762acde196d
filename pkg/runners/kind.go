package runners

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// Decoder makes a runner from its block in the configuration: of
// `{name: writer, exec: {command: [...]}}` it gets what stands beside exec. It decodes
// strictly; its errors carry the place (strict.Error).
//
// The runner it makes may be run for many terms, one after the other.
type Decoder func(node *yaml.Node, env Env) (election.Runner, error)

// Env is what a kind is given besides its block.
type Env struct {
	// Election is the election's name; Runner the runner's, which Registry.Decode sets.
	Election, Runner string
	// StopGrace is the election's. A runner's own may be shorter, never longer.
	StopGrace time.Duration
	// Clock tells the time on CLOCK_BOOTTIME; nil means that of production.
	Clock clock.Clock
	// Log takes what the runner has to say; nil means nowhere.
	Log *zap.Logger
	// Missing is told what the runner needs and this machine lacks, such as its program, as a
	// strict.Error; nil to tell nobody. It is no error of the block: the runner may run elsewhere, or later.
	Missing func(error)
	// Later takes what takes time to find out, such as whether a program answers, to find it out
	// after the decoding, beside what others have; nil to have it found out while decoding.
	Later func(Probe)
}

// Probe finds out what speaks against a block: a strict.Error. It returns soon after ctx ends.
type Probe func(ctx context.Context) error

// Defaults is env with what was left nil filled in.
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
	return env
}

// Child is one runner of an election under its name.
type Child struct {
	Name string
	// Kind is the name of its kind, for those who watch; empty where it has none.
	Kind   string
	Runner election.Runner
	// OnExit says what follows when it ends before its term. Empty stands for ExitRestart.
	OnExit OnExit
}

// ErrDeadline is wrapped by a runner that stopped, or did not start, because its term's
// deadline came without an extension. The supervision holds it against nobody.
var ErrDeadline = errors.New("the term's deadline came without an extension")

// Log is log with the fields that every line about a runner carries.
func Log(log *zap.Logger, term election.Term, runner string) *zap.Logger {
	return log.With(
		zap.String("election", term.Election),
		zap.String("identity", term.Identity),
		zap.String("revision", term.Revision),
		zap.Uint64("term", uint64(term.Token)),
		zap.String("runner", runner),
	)
}
