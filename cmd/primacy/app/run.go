package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
	"github.com/primacy-dev/primacy/pkg/election/metrics"
	"github.com/primacy-dev/primacy/pkg/runners/cgroup"
	"github.com/primacy-dev/primacy/pkg/runners/deadman"
	"github.com/primacy-dev/primacy/pkg/runners/parent"
)

func newRun(a *additions) *cobra.Command {
	var name string
	var guard bool
	cgroups := cgroupMode(cgroup.Auto)
	c := &cobra.Command{
		Use:   "run --config FILE",
		Short: "Take part in elections as a member, and do the work of those that it leads",
		Long: `Take part in the elections of a configuration as one member of its group.

In a Pod it uses the Pod's service account, elsewhere a kubeconfig. Flags come before
environment variables, those before the file. The file is watched: elections that were
added, removed or changed are taken up at once, all others are left alone.

SIGTERM or SIGINT: runners are stopped, then locks released; another signal, a second
later or more, ends the process at once.

Exit status: 0 after SIGTERM or SIGINT; 1 when it cannot start or go on; 2 for a mistake
in the command line; 70 when work could not be stopped in time; 128 + its number after
another signal.`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if d := parent.Bereaved(); d != nil {
				afterDeath.Outlive(c.Context(), d)
			}
			var g guarded
			if guard { // before we read anything: the member reads it again
				g.line, g.why = parent.Start(parent.Options{Cgroup: cgroup.Mode(cgroups)})
				if errors.Is(g.why, cgroup.ErrIndivisible) {
					return fmt.Errorf("--cgroup: %w (run as root, let systemd give a group with Delegate=yes, or leave --cgroup at auto)", g.why)
				}
			}
			p, err := config.LoadProcess(c.Flags())
			if err != nil {
				return hintMissing(err, "--config and PRIMACY_CONFIG")
			}
			host, err := memberName(name)
			if err != nil {
				return err
			}
			return a.run(c.Context(), p, host, g)
		},
	}
	addSettings(c.Flags(), "config", "kubeconfig", "namespace", "group", "revision", "location", "log-level", "log-format")
	c.Flags().StringVar(&name, "name", "", "name of this member, of which its identities are made (environment: PRIMACY_NAME, POD_NAME; default: the host's name)")
	c.Flags().BoolVar(&guard, "guard", true, "run the member as the child of a small process, which proves its death to the others if it crashes")
	c.Flags().Var(&cgroups, "cgroup", "a control group for the member and all that it starts: auto, always or never (auto: where systemd has Delegate=yes)")
	return c
}

// cgroupMode is the value of --cgroup.
type cgroupMode cgroup.Mode

func (m *cgroupMode) String() string { return string(*m) }
func (m *cgroupMode) Type() string   { return "mode" }

func (m *cgroupMode) Set(s string) error {
	if !slices.Contains(cgroup.Modes, cgroup.Mode(s)) {
		return fmt.Errorf("want one of %v", cgroup.Modes)
	}
	*m = cgroupMode(s)
	return nil
}

// memberName is the name that this process has among the members.
func memberName(flag string) (string, error) {
	for _, name := range []string{flag, os.Getenv("PRIMACY_NAME"), os.Getenv("POD_NAME")} {
		if name != "" {
			return name, nil
		}
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("host name: %w (give --name)", err)
	}
	return strings.ToLower(host), nil
}

// guarded is what a member knows of its parent process: the line to it, or why there is none, or nothing.
type guarded struct {
	line *parent.Line
	why  error
}

// run makes all checks, and then takes part as a member until a signal comes.
func (a *additions) run(ctx context.Context, p *config.Process, name string, g guarded) error {
	if p.Configuration == nil {
		return &usageError{errors.New("no configuration (give --config FILE, or set PRIMACY_CONFIG)")}
	}
	outliveReaders()
	if err := deadman.Adopt(); err != nil {
		return err
	}
	defer reaping()()
	log := newLogger(p.LogLevel, p.LogFormat)
	defer func() { _ = log.Sync() }() // if this fails, we cannot log the error either
	ctx, stop := untilSignal(ctx, log)
	defer stop()
	if g.why != nil {
		log.Warn("there is no parent process: after a crash of this member, others wait for a leaseDuration", zap.Error(g.why))
	}
	if err := checkGroup(g.line, p.Configuration.Member.Proofs, log); err != nil {
		return err
	}
	plan, err := a.checker().plan(ctx, p.Configuration)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	if err := missing(plan.elections); err != nil {
		return err
	}
	logWeaker(log, plan.elections)
	logSlew(log, p.Configuration.Timing.Drift)
	cluster, err := findCluster(p.Kubeconfig)
	if err != nil {
		return err
	}
	if p.Namespace != "" {
		cluster.namespace = p.Namespace
	}
	cluster.config = apiserver.Alive(cluster.config, p.Configuration.LeastOutage()/2)
	log.Info("starting", zap.String("version", version), zap.String("server", cluster.config.Host),
		zap.String("namespace", cluster.namespace), zap.String("group", p.Group), zap.String("name", name),
		zap.String("revision", p.Revision), zap.Int("elections", len(p.Configuration.Elections)))
	if err := preflight(ctx, cluster, needs(p, name, plan.source), log); err != nil {
		return unlessStopped(ctx, err)
	}
	cluster.config.Wrap(newAnswers(clock.Boottime(), p.Configuration.LeastOutage()/2, log).over)
	cluster.requests = metrics.NewRequests()
	cluster.config.Wrap(cluster.requests.Over)
	if g.line != nil {
		if err := g.line.Note(notesOf(p, cluster)); err != nil {
			return unlessStopped(ctx, err)
		}
	}
	m, err := newMember(ctx, a.runners, p, cluster, name, g.line, log)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	return m.run(ctx)
}

// reaping reaps the dead processes that this process inherits, until the caller calls stop.
func reaping() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { deadman.Reap(ctx) })
	return func() { cancel(); wg.Wait() }
}

// logWeaker logs what holds less on this machine than it may elsewhere, of the runners of the given elections.
func logWeaker(log *zap.Logger, of []planned) {
	for _, e := range weaker(of) {
		log.Warn("a limit does not hold for its runner's whole process tree", zap.Error(e))
	}
}

// unlessStopped is err, the error of a start; nil if a signal stopped the start.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
