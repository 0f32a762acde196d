package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

func newStatus() *cobra.Command {
	var output string
	var watch bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show who leads what, from what the API says",
		Long: `Show the elections of a namespace, who leads them, and the members that take part. It
reads the API and nothing else, and needs list and watch on leases. Elections whose
locks are ConfigMaps are not shown.

With --config the elections of that configuration are shown even where nobody has
created their locks yet. A "stale?" holder or member was not renewed for as long as its
lease lasts, by the clock of this machine; only members, who watch it, know for sure.`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			format, err := status.ParseFormat(output)
			if err != nil {
				return &usageError{fmt.Errorf("--output: %w", err)}
			}
			p, err := config.LoadProcess(c.Flags())
			if err != nil {
				return hintMissing(err, "--config and PRIMACY_CONFIG")
			}
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			s := statusCommand{format: format, out: c.OutOrStdout(), notes: c.ErrOrStderr()}
			if err := s.connect(ctx, p); err != nil {
				return err
			}
			if watch {
				return s.watch(ctx)
			}
			return s.show(ctx)
		},
	}
	addSettings(c.Flags(), "config", "kubeconfig", "namespace", "group")
	c.Flags().StringVarP(&output, "output", "o", string(status.Table), "table, json, yaml or name")
	c.Flags().BoolVarP(&watch, "watch", "w", false, "go on, and show what changes")
	return c
}

// statusCommand is one invocation of `primacy status`.
type statusCommand struct {
	cluster   *cluster
	locks     lock.Store
	namespace string
	selection status.Selection
	// hidden are configured elections that are not shown: their locks are no Leases, and
	// disabled those that are not held.
	hidden, disabled []string
	format           status.Format
	// out takes what was asked for, notes what else there is to say.
	out, notes io.Writer
}

// statusPatience is how long people are kept waiting for an API server.
const statusPatience = 10 * time.Second

func (s *statusCommand) connect(ctx context.Context, p *config.Process) error {
	cluster, err := findCluster(p.Kubeconfig)
	if err != nil {
		return err
	}
	if p.Namespace != "" {
		cluster.namespace = p.Namespace
	}
	if err := reach(ctx, cluster.config, min(statusPatience, patience), func(waiting) {}); err != nil {
		return err
	}
	client, err := lease.NewClient(cluster.config)
	if err != nil {
		return err
	}
	s.cluster, s.namespace = cluster, cluster.namespace
	s.locks = lease.In(client, cluster.namespace)
	s.selection, s.hidden, s.disabled = selectionOf(p)
	return nil
}

// selectionOf is what a process's settings say is to be shown, and what cannot be.
func selectionOf(p *config.Process) (s status.Selection, hidden, disabled []string) {
	s.Group = p.Group
	if p.Configuration == nil {
		return s, nil, nil
	}
	for _, e := range p.Configuration.Elections {
		if e.Disabled {
			disabled = append(disabled, e.Name)
			s.Without = append(s.Without, e.Lock.Name)
			continue
		}
		if e.Lock.Kind != config.DefaultLockKind {
			hidden = append(hidden, e.Name)
			continue
		}
		s.Expected = append(s.Expected, status.Expected{Election: e.Name, Lock: e.Lock.Name})
	}
	return s, hidden, disabled
}

// noteHidden says which elections are missing from what is shown.
func (s *statusCommand) noteHidden() error {
	if len(s.disabled) > 0 {
		if _, err := fmt.Fprintf(s.notes, "not shown, since they are disabled and every member works for them: %s\n", strings.Join(s.disabled, ", ")); err != nil {
			return err
		}
	}
	if len(s.hidden) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(s.notes, "not shown, since their locks are not Leases: %s\n", strings.Join(s.hidden, ", "))
	return err
}

// show writes one report.
func (s *statusCommand) show(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	report, err := status.Look(ctx, s.locks, s.selection)
	if err != nil {
		return s.failed(err)
	}
	if err := s.noteHidden(); err != nil {
		return err
	}
	if s.format == status.Table && report.Empty() {
		return s.noteEmpty()
	}
	return report.Write(s.out, s.format)
}

func (s *statusCommand) noteEmpty() error {
	of := ""
	if s.selection.Group != "" {
		of = " of group " + s.selection.Group
	}
	_, err := fmt.Fprintf(s.notes, "no elections%s in namespace %s (--namespace chooses another; locks appear when the first member has started)\n", of, s.namespace)
	return err
}

func (s *statusCommand) failed(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("locks in namespace %s: no answer within %v (is the API server overloaded? try again)", s.namespace, statusPatience)
	}
	return fmt.Errorf("locks in namespace %s: %w", s.namespace, err)
}

// isTerminal says whether a writer is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
