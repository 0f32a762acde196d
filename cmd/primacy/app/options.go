package app

import (
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/exec"
	"github.com/primacy-dev/primacy/pkg/runners/funcs"
	"github.com/primacy-dev/primacy/pkg/strict/schema"
)

// Option adds something to the program. If a name is empty or already used, Main panics: that is a
// mistake of its caller.
type Option func(*additions)

// Func adds a function that elections run as `func: {kind: name}`.
func Func(name string, run election.RunnerFunc) Option {
	return func(a *additions) { a.functions.Register(name, run) }
}

// FuncReady is Func with a readiness check: ready returns nil if run could work in a term, else an
// error that says why not. The member calls it every few seconds. No holder hands over to a member
// that is not ready.
func FuncReady(name string, run election.RunnerFunc, ready runners.ReadyFunc) Option {
	return func(a *additions) { a.functions.RegisterReady(name, run, ready) }
}

// Always adds a function that elections run as `func: {kind: name}` with `mode: always`.
func Always(name string, run election.AlwaysFunc) Option {
	return func(a *additions) { a.functions.RegisterAlways(name, run) }
}

// Kind adds a kind of runner, such as exec; d decodes its blocks.
func Kind(name string, d runners.Decoder) Option {
	return func(a *additions) { a.runners.Register(name, d) }
}

// Described says what blocks of a kind that Kind added hold: the JSON schema then knows their keys.
func Described(kind string, b schema.Block) Option {
	return func(a *additions) { a.runners.Describe(kind, b) }
}

// Command adds a command. If its RunE returns an error, the program prints the error and exits with status 1.
func Command(c *cobra.Command) Option {
	return func(a *additions) { a.commands = append(a.commands, c) }
}

// additions are the parts that Options add to the program.
type additions struct {
	runners   *runners.Registry
	functions *funcs.Table
	commands  []*cobra.Command
}

// add makes the program's parts. Every built-in kind of runner is one line here.
func add(options []Option) *additions {
	a := &additions{runners: runners.NewRegistry(), functions: funcs.NewTable()}
	a.runners.Register("exec", exec.Kind())
	a.runners.Describe("exec", exec.Block())
	a.runners.Register("func", a.functions.Kind())
	a.runners.Describe("func", a.functions.Block())
	a.functions.RegisterFactory(funcs.HeartbeatName, funcs.Heartbeat)
	for _, option := range options {
		option(a)
	}
	return a
}

// checker is a planner whose plans are only checked, never carried out.
func (a *additions) checker() planner {
	return planner{runners: a.runners, sources: sourceKinds(sourceClients{}), log: zap.NewNop()}
}
