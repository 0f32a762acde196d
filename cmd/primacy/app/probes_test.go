package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// probed is a kind of runner with a probe.
func probed(probe func(context.Context, *yaml.Node) error) runners.Decoder {
	return func(node *yaml.Node, env runners.Env) (election.Runner, error) {
		env.Later(func(ctx context.Context) error { return probe(ctx, node) })
		return election.RunnerFunc(func(context.Context, election.Term) error { return nil }), nil
	}
}

const probedPair = `
apiVersion: primacy.dev/v1alpha1
kind: PrimacyConfiguration
group: edge
member: {revision: "1-9-0"}
elections:
- name: one
  runners: [{name: a, probed: {}}]
- name: two
  runners: [{name: b, probed: {}}]
`

// changedPair is a process with probedPair in force, whose file has changed since.
func changedPair(t *testing.T) *config.Process {
	t.Helper()
	path := filepath.Join(t.TempDir(), "primacy.yaml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(probedPair)
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	config.AddFlags(set)
	if err := set.Parse([]string{"--config", path}); err != nil {
		t.Fatal(err)
	}
	p, err := config.LoadProcess(set)
	if err != nil {
		t.Fatal(err)
	}
	write(strings.ReplaceAll(probedPair, "two", "three"))
	return p
}

// TestRunnersAreProbedAtOnce checks that the probes of all runners run in parallel, and that each error
// has its place in the document.
func TestRunnersAreProbedAtOnce(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	a := add([]Option{Kind("probed", probed(func(_ context.Context, node *yaml.Node) error {
		both.Done()
		both.Wait() // for the other probe: blocks for ever unless they run in parallel
		return strict.NewError(node, "", "does not answer", "")
	}))})
	c, err := config.Parse("pair.yaml", []byte(probedPair))
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.checker().plan(t.Context(), c)
	var mistakes strict.Errors
	if !errors.As(err, &mistakes) || len(mistakes) != 2 {
		t.Fatalf("got %v, want what both say", err)
	}
	for i, want := range []string{"pair.yaml:8:", "pair.yaml:10:"} {
		if got := mistakes[i].Error(); !strings.HasPrefix(got, want) || !strings.Contains(got, "runners[0].probed: does not answer") {
			t.Errorf("got %s, want it at %s", got, want)
		}
	}
}

// TestReloadThatIsInterruptedIsNotRefused checks that the log has no error if the member's end cuts off
// a reload while probes run.
func TestReloadThatIsInterruptedIsNotRefused(t *testing.T) {
	p := changedPair(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := add([]Option{Kind("probed", probed(func(ctx context.Context, _ *yaml.Node) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}))})
	core, logs := observer.New(zap.InfoLevel)
	r := &reloader{planner: a.checker(), inForce: p.Configuration, log: zap.New(core)}
	if err := r.follow(ctx, p); err != nil {
		t.Error(err)
	}
	if logs.Len() > 0 || r.inForce != p.Configuration {
		t.Errorf("logged: %v", logs.All())
	}
}
