package app

import (
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/exec"
	"github.com/primacy-dev/primacy/pkg/runners/funcs"
)

// Option adds something to the program. A name that is taken or empty is a mistake in
// whoever calls Main, and panics.
type Option func(*additions)

// Func adds a function that elections run as `func: {kind: name}`.
func Func(name string, run election.RunnerFunc) Option {
	return func(a *additions) { a.functions.Register(name, run) }
}

// FuncReady is Func with a function that says why the other could not work during a term, nil
// for that it could. It is asked every few seconds; no holder drains for a member that says no.
func FuncReady(name string, run election.RunnerFunc, ready runners.ReadyFunc) Option {
	return func(a *additions) { a.functions.RegisterReady(name, run, ready) }
}

// Always adds a function that elections run as `func: {kind: name}` with `mode: always`.
func Always(name string, run election.AlwaysFunc) Option {
	return func(a *additions) { a.functions.RegisterAlways(name, run) }
}

// Kind adds a kind of runner, such as exec is one: d decodes its blocks.
func Kind(name string, d runners.Decoder) Option {
	return func(a *additions) { a.runners.Register(name, d) }
}

// Command adds a command. What its RunE returns is shown, and the exit status is 1.
func Command(c *cobra.Command) Option {
	return func(a *additions) { a.commands = append(a.commands, c) }
}

// additions are what a program has of its own, beside what every program has.
type additions struct {
	runners   *runners.Registry
	functions *funcs.Table
	commands  []*cobra.Command
}

// add makes the program's parts. Every kind of runner that each program knows is one line here.
func add(options []Option) *additions {
	a := &additions{runners: runners.NewRegistry(), functions: funcs.NewTable()}
	a.runners.Register("exec", exec.Kind())
	a.runners.Register("func", a.functions.Kind())
	a.functions.RegisterFactory(funcs.HeartbeatName, funcs.Heartbeat)
	for _, option := range options {
		option(a)
	}
	return a
}

// checker is a planner whose plans are not carried out.
func (a *additions) checker() planner {
	return planner{runners: a.runners, sources: sourceKinds(sourceClients{}), log: zap.NewNop()}
}
