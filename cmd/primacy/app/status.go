package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
	"github.com/primacy-dev/primacy/pkg/election/lock/configmap"
	"github.com/primacy-dev/primacy/pkg/election/lock/lease"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

func newStatus() *cobra.Command {
	var output, waitFor string
	var watch bool
	var timeout *time.Duration
	c := &cobra.Command{
		Use:   "status [ELECTION...]",
		Short: "Show who leads what, from what the API says",
		Long: `Show the elections of a namespace, who leads them, and the members that take part. It
reads the API and nothing else, and needs list and watch on leases, and on configmaps
where locks are ConfigMaps; without that right it says so and shows the others.

An election that migrates from one lock to another has one row, and the note names the
other lock.

With --config the elections of that configuration are shown even where nobody has
created their locks yet. A "stale?" holder or member was not renewed for as long as its
lease lasts, by the clock of this machine; only members, who watch it, know for sure.

With --wait it waits until all elections, or those that are named, are led, are free, or are
led by a revision, and shows them then. With --config it does not wait for a revision where the
policy of an election does not look at revisions, unless that election is named.

Exit status: 0; 1 if the API or a named election cannot be read, or if the namespace does not exist; 2 for a mistake in the
command line; 3 if --wait waited in vain.`,
		Example: `  primacy status
  primacy status ingress-status --wait led --timeout 30s
  primacy status --wait revision=1-10-0`,
		RunE: func(c *cobra.Command, names []string) error {
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
			var want goal
			if c.Flags().Changed("wait") {
				if want, err = parseGoal(waitFor); err != nil {
					return &usageError{fmt.Errorf("--wait: %w", err)}
				}
			}
			if err := checkPatience(c.Flags(), *timeout); err != nil {
				return err
			}
			s := statusCommand{format: format, out: c.OutOrStdout(), notes: c.ErrOrStderr()}
			if err := s.connect(ctx, p); err != nil {
				return err
			}
			s.selection.Elections = names
			if want != "" {
				return s.wait(ctx, clock.Boottime(), want, *timeout)
			}
			if watch {
				return s.watch(ctx)
			}
			return s.show(ctx)
		},
	}
	addSettings(c.Flags(), groupSettings...)
	c.Flags().StringVarP(&output, "output", "o", string(status.Table), "table, json, yaml or name")
	c.Flags().BoolVarP(&watch, "watch", "w", false, "go on, and show what changes")
	c.Flags().StringVar(&waitFor, "wait", "", "wait for the elections: led, free or revision=REVISION")
	timeout = patienceFlag(c.Flags(), 30*time.Second)
	return c
}

// statusCommand is one invocation of `primacy status`.
type statusCommand struct {
	cluster   *cluster
	realm     status.Realm
	namespace string
	selection status.Selection
	// rulebook has the elections' rules from the configuration.
	rulebook rulebook
	// disabled are the configured elections that are disabled, and so not shown.
	disabled []string
	format   status.Format
	// out gets the result, notes everything else.
	out, notes io.Writer
}

// statusPatience is how long a command waits for the API server.
const statusPatience = 10 * time.Second

func (s *statusCommand) connect(ctx context.Context, p *config.Process) error {
	cluster, err := findContext(p.Kubeconfig, p.Context)
	if err != nil {
		return err
	}
	if p.Namespace != "" {
		cluster.namespace = p.Namespace
	}
	cluster.config = apiserver.Alive(cluster.config, statusPatience)
	if err := reach(ctx, cluster.config, min(statusPatience, patience), func(waiting) {}); err != nil {
		return err
	}
	client, err := lease.NewClient(cluster.config)
	if err != nil {
		return err
	}
	maps, err := configmap.NewClient(cluster.config)
	if err != nil {
		return err
	}
	s.cluster, s.namespace = cluster, cluster.namespace
	s.realm = status.Realm{
		Leases:     lease.In(client, cluster.namespace),
		ConfigMaps: configmap.In(maps, cluster.namespace, configmap.OfGroup(p.Group)),
		In: func(namespace string) status.Place {
			return status.Place{Leases: lease.Shared(client, namespace), ConfigMaps: configmap.In(maps, namespace)}
		},
	}
	s.selection, s.disabled = selectionOf(p)
	s.rulebook = rulebookOf(p)
	return nil
}

// selectionOf is the selection that a process's settings make, and the disabled elections.
func selectionOf(p *config.Process) (s status.Selection, disabled []string) {
	s.Group = p.Group
	if p.Configuration == nil {
		return s, nil
	}
	for _, e := range p.Configuration.Elections {
		if e.Disabled {
			disabled = append(disabled, e.Name)
			s.Without = append(s.Without, refOf(e.Lock.LockName()))
			continue
		}
		expected := status.Expected{Election: e.Name, Lock: e.Lock.Name, Kind: status.Kind(e.Lock.Kind), Namespace: e.Lock.Namespace}
		if from := e.Lock.MigrateFrom; from != nil {
			expected.MigrateFrom = refOf(*from)
		}
		s.Expected = append(s.Expected, expected)
	}
	return s, disabled
}

func refOf(l config.LockName) status.Ref {
	return status.Ref{Kind: status.Kind(l.Kind), Namespace: l.Namespace, Name: l.Name}
}

// unseen are the configured elections that a report lacks because this user may not see their locks.
func (s *statusCommand) unseen(r status.Report) (names []string) {
	for _, e := range s.selection.Expected {
		if !slices.ContainsFunc(r.Elections, func(seen status.Election) bool { return seen.Name == e.Election }) {
			names = append(names, e.Election)
		}
	}
	return names
}

// noteUnseen notes which elections the report lacks.
func (s *statusCommand) noteUnseen(r status.Report) error {
	if err := s.noteDisabled(); err != nil {
		return err
	}
	return s.noteNotes(r)
}

func (s *statusCommand) noteDisabled() error {
	if len(s.disabled) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(s.notes, "not shown, since they are disabled and every member works for them: %s\n", strings.Join(s.disabled, ", "))
	return err
}

func (s *statusCommand) noteNotes(r status.Report) error {
	for _, note := range r.Notes {
		if _, err := fmt.Fprintf(s.notes, "note: %s\n", note); err != nil {
			return err
		}
	}
	return nil
}

// show writes one report.
func (s *statusCommand) show(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	report, err := status.Look(ctx, s.realm, s.selection)
	if err != nil {
		return s.failed(err)
	}
	s.steered(ctx, report).tell(&report)
	if err := s.noteUnseen(report); err != nil {
		return err
	}
	if absent := s.absent(report); len(absent) > 0 {
		return s.noSuch(absent)
	}
	if err := s.checkGroup(report); err != nil {
		return err
	}
	if report.Empty() {
		if err := s.checkNamespace(ctx); err != nil {
			return err
		}
		if s.format == status.Table {
			return s.noteEmpty()
		}
	}
	return report.Write(s.out, s.format)
}

// checkGroup refuses a group that has nothing here while others have the elections of its configuration.
func (s *statusCommand) checkGroup(r status.Report) error {
	if s.selection.Group == "" || slices.ContainsFunc(r.Members, func(m status.Member) bool { return m.Group == s.selection.Group }) {
		return nil
	}
	var others []string
	for _, e := range r.Elections {
		if e.Group == s.selection.Group {
			return nil
		}
		if e.Group != "" && !slices.Contains(others, e.Group) {
			others = append(others, e.Group)
		}
	}
	if others == nil {
		return nil
	}
	return fmt.Errorf("group %s has no members and no elections in namespace %s; these elections are of group %s (check --group and PRIMACY_GROUP)",
		s.selection.Group, s.namespace, strings.Join(others, ", "))
}

// checkNamespace says whether the namespace exists, as far as this user may know.
func (s *statusCommand) checkNamespace(ctx context.Context) error {
	core, err := apiserver.ClientFor(s.cluster.config, coreclient.NewForConfigAndClient)
	if err != nil {
		return err
	}
	if _, err := core.Namespaces().Get(ctx, s.namespace, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		return fmt.Errorf("namespace %s does not exist (check --namespace)", s.namespace)
	}
	return nil // who may not read namespaces is told that there are no elections
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
