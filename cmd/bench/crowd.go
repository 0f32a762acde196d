package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"go.uber.org/zap"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/machine"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// crowdMember is the first argument of a bench that is one member of the scale scenario: a
// Manager, and one line of JSON on its standard output for each line on its standard input.
const crowdMember = "scale-member"

// state is what such a process says of itself.
type state struct {
	Leads, Sees int
	Goroutines  int
	Heap        uint64
	Now         record.Instant
}

// electionName is that of the i-th election; electors of both kinds use it.
func electionName(i int) string { return fmt.Sprintf("e%05d", i) }

func runCrowdMember(args []string) error {
	var kubeconfig, namespace, group, name, spans string
	var elections int
	var writes float64
	flags := flag.NewFlagSet(crowdMember, flag.ContinueOnError)
	flags.StringVar(&kubeconfig, "kubeconfig", "", "")
	flags.StringVar(&namespace, "namespace", "", "")
	flags.StringVar(&group, "group", "scale", "")
	flags.StringVar(&name, "name", "", "")
	flags.StringVar(&spans, "spans", "", "file of the runners; empty for no runners")
	flags.IntVar(&elections, "elections", 1, "")
	flags.Float64Var(&writes, "writes", 0, "writes per second; 0 for the default")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%s: %w", crowdMember, err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	client, err := lease.NewClient(config)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	logs := zap.NewProductionConfig()
	logs.Level.SetLevel(zap.WarnLevel)
	log, err := logs.Build()
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	m, err := election.NewManager(election.Config{
		Group: group, Host: name, Member: election.Member{Revision: "stable"}, Locks: lease.In(client, namespace),
		WritesPerSecond: writes, Log: log,
	})
	if err != nil {
		return fmt.Errorf("member: %w", err)
	}
	runner, err := spanRunner(spans)
	if err != nil {
		return err
	}
	all := make([]*election.Status, elections)
	for i := range all {
		if all[i], err = m.Add(election.Spec{Name: electionName(i), Bootstrap: machine.BootstrapImmediate}, runner); err != nil {
			return fmt.Errorf("member: %w", err)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	answer(func() state {
		var s state
		for _, status := range all {
			if status.IsLeader() {
				s.Leads++
			}
			if status.Leader().Identity != "" {
				s.Sees++
			}
		}
		return s
	})
	if err := m.Run(ctx); err != nil {
		return fmt.Errorf("member: %w", err)
	}
	return nil
}

// answer says, on a goroutine that ends with the process, what is asked for.
func answer(look func() state) {
	go func() { // ends with the process: its parent holds the other end
		in, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
		for in.Scan() {
			s := look()
			if in.Text() == "collect" { // garbage would count as use
				runtime.GC()
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			s.Goroutines, s.Heap, s.Now = runtime.NumGoroutine(), m.HeapAlloc, clock.Boottime().Now()
			if out.Encode(s) != nil {
				return // nobody listens any more
			}
		}
	}()
}

// spanRunner writes down when it begins and ends to the file, a line each.
func spanRunner(file string) (election.Runner, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("runners' file: %w", err)
	}
	note := func(what string, t election.Term) error {
		_, err := fmt.Fprintln(f, what, t.Election, uint64(t.Token), int64(clock.Boottime().Now()))
		return err
	}
	return election.RunnerFunc(func(ctx context.Context, t election.Term) error {
		err := note("begin", t)
		<-ctx.Done()
		return errors.Join(err, note("end", t))
	}), nil
}
