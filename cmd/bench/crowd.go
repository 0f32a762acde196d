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
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/primacy-dev/primacy/cmd/bench/span"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions/configmap"
)

// crowdMember is the first argument with which bench runs as one member of many elections: a
// Manager, which answers each line on its standard input with one line of JSON on its standard output.
const crowdMember = "member"

// state is the answer of a member process about itself.
type state struct {
	Leads, Sees int
	Goroutines  int
	// CPU is the CPU time that the process has used, user and system. Heap is the heap after a
	// garbage collection, which the process makes only on request.
	CPU  time.Duration
	Heap uint64
	Now  record.Instant
}

// electionName is the name of the i-th election, for members of both kinds.
func electionName(i int) string { return fmt.Sprintf("e%05d", i) }

func runCrowdMember(args []string) error {
	var kubeconfig, namespace, name, spans, revision, profile, renewal, prefer string
	var elections int
	flags := flag.NewFlagSet(crowdMember, flag.ContinueOnError)
	flags.StringVar(&kubeconfig, "kubeconfig", "", "")
	flags.StringVar(&namespace, "namespace", "", "")
	flags.StringVar(&name, "name", "", "")
	flags.StringVar(&spans, "spans", "", "file of the runners; empty for no runners")
	flags.StringVar(&revision, "revision", "stable", "")
	flags.StringVar(&profile, "profile", record.DefaultProfile, "")
	flags.StringVar(&renewal, "renewal", "", "session or record; empty for the default")
	flags.StringVar(&prefer, "prefer", "", "ConfigMap of the preferred revision, which elections follow at once; empty for none")
	flags.IntVar(&elections, "elections", 1, "")
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
	timing, err := record.Profile(profile)
	if err != nil {
		return fmt.Errorf("member: %w", err)
	}
	cfg := election.Config{
		Group: namespace, Host: name, Member: election.Member{Revision: revision}, Locks: lease.In(client, namespace), Log: log,
	}
	if prefer != "" {
		core, err := coreclient.NewForConfig(config)
		if err != nil {
			return fmt.Errorf("client: %w", err)
		}
		cfg.Preferences = configmap.New(core, configmap.Key{Namespace: namespace, Name: prefer, Key: "default"}, log)
		timing.PreemptDelay, timing.MinHold = 0, 0
	}
	cfg.Timing = timing
	m, err := election.NewManager(cfg)
	if err != nil {
		return fmt.Errorf("member: %w", err)
	}
	runner, err := spanRunner(spans)
	if err != nil {
		return err
	}
	all := make([]*election.Status, elections)
	for i := range all {
		if all[i], err = m.Add(election.Spec{Name: electionName(i), Bootstrap: election.BootstrapImmediate, Renewal: record.Renewal(renewal)}, runner); err != nil {
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

// answer answers requests on a goroutine that ends with the process.
func answer(look func() state) {
	go func() { // ends with the process: its parent holds the other end
		in, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
		for in.Scan() {
			s := look()
			if in.Text() == "collect" { // otherwise garbage would count as used memory
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				s.Heap = m.HeapAlloc
			}
			var used unix.Rusage
			if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
				panic(err) // this cannot fail for our own process
			}
			s.CPU = time.Duration(used.Utime.Nano() + used.Stime.Nano())
			s.Goroutines, s.Now = runtime.NumGoroutine(), clock.Boottime().Now()
			if out.Encode(s) != nil {
				return // the parent is gone
			}
		}
	}()
}

// spanRunner is a runner that records when it begins and ends.
func spanRunner(file string) (election.Runner, error) {
	if file == "" {
		return nil, nil
	}
	n, err := span.OpenNotes(file)
	if err != nil {
		return nil, err
	}
	return election.RunnerFunc(func(ctx context.Context, t election.Term) error {
		err := n.Begin(t.Election, uint64(t.Token))
		<-ctx.Done()
		return errors.Join(err, n.End(t.Election, uint64(t.Token)))
	}), nil
}
