package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

func newHandback() *cobra.Command {
	h := handbackCommand{clock: clock.Boottime()}
	c := &cobra.Command{
		Use:   "handback [ELECTION...]",
		Short: "Release locks that dead members left, so that electors of client-go can take them",
		Long: `Release the locks of elections that no member of Primacy leads any more, so that electors of
client-go can take them at once. A Lease that a session renews says that it lasts for a year, and
only members of Primacy look at sessions. primacy waits for as long as a member would, a lease at
most, and for a lease if the holder was proved dead: with onDeath: lease its work may go on outside.
It releases no lock whose holder lives: stop that member first.

Locks that expire by themselves, and those that nobody holds, are left as they are. It needs list,
watch, get and update on leases.

Exit status: 0 when every lock can be taken, or with --dry-run when it was looked at; 1 when that
failed; 2 for a mistake in the command line; 5 when a holder lives. Its lock is left as it is.`,
	}
	addSettings(c.Flags(), groupSettings...)
	c.Flags().BoolVar(&h.all, "all", false, "all elections of the group")
	h.dry, h.output = addDryRun(c.Flags()), addOutput(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		if h.all == (len(args) > 0) {
			return &usageError{fmt.Errorf("name elections, or give --all (%s --help says more)", c.CommandPath())}
		}
		return inGroup(c, func(ctx context.Context, g groupCommand) error {
			h.groupCommand, h.elections = g, args
			return h.run(ctx)
		})
	}
	return c
}

// handbackCommand is one invocation of `primacy handback`.
type handbackCommand struct {
	groupCommand
	elections []string
	all       bool
	dry       *dryRun
	output    *output
	clock     clock.Clock
}

// handedBack is what becomes of one lock, in JSON and YAML. Fields are added, never renamed.
type handedBack struct {
	Election string `json:"election"`
	Kind     string `json:"kind"`
	Lock     string `json:"lock"`
	// Namespace is where the lock is; empty for that of the sessions.
	Namespace string `json:"namespace,omitempty"`
	// From held the lock; empty if nothing had to be done.
	From     string `json:"from,omitempty"`
	Released bool   `json:"released"`
	DryRun   bool   `json:"dryRun,omitempty"`
	Error    string `json:"error,omitempty"`
}

func (h *handbackCommand) run(ctx context.Context) error {
	looking, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	report, err := status.Look(looking, h.realm, h.selection)
	if err != nil {
		return h.failed(err)
	}
	if h.all && h.group == "" {
		if h.group, err = onlyGroup(report, h.namespace); err != nil {
			return err
		}
	}
	chosen, err := h.choose(report)
	if err != nil {
		return err
	}
	done := []handedBack{}
	var errs []error
	var text strings.Builder
	by := h.handback(ctx, h.clock)
	for _, e := range chosen {
		one := h.handBack(ctx, by, e, &errs)
		done = append(done, one)
		switch {
		case one.Error != "":
		case one.From == "":
			fmt.Fprintf(&text, "%s: nothing to do: another elector can take it, or it expires by itself\n", one.Election)
		case one.Released:
			fmt.Fprintf(&text, "%s: released; it was %s's\n", one.Election, one.From)
		default:
			fmt.Fprintf(&text, "%s: would be released once %s is silent for a lease: --dry-run\n", one.Election, one.From)
		}
	}
	if err := h.output.write(h.out, text.String(), done); err != nil {
		return err
	}
	if err := errors.Join(errs...); errors.Is(err, election.ErrHolderLives) {
		return refused(fmt.Errorf("%w (stop that member first)", err))
	} else if err != nil {
		return err
	}
	return nil
}

// choose are the elections that were asked for.
func (h *handbackCommand) choose(r status.Report) (chosen []status.Election, err error) {
	known := map[string]status.Election{}
	for _, e := range r.Elections {
		known[e.Name] = e
		if h.all && e.Group == h.group {
			chosen = append(chosen, e)
		}
	}
	for _, name := range h.elections {
		e, there := known[name]
		if !there {
			return nil, fmt.Errorf("no election %s is seen in namespace %s (primacy status lists them)", name, h.namespace)
		}
		chosen = append(chosen, e)
	}
	return chosen, nil
}

func (h *handbackCommand) handBack(ctx context.Context, by *election.Handback, e status.Election, errs *[]error) handedBack {
	one := handedBack{Election: e.Name, Kind: string(e.Kind), Lock: e.Lock, Namespace: e.Namespace, DryRun: bool(*h.dry)}
	seen, err := lock.Entry{}, error(nil)
	if e.Kind == status.Lease {
		seen, err = h.leasesIn(e.Namespace).Get(ctx, e.Lock)
	}
	r := seen.Record
	switch {
	case err != nil:
	case r == nil || r.Holder == "" || !r.Bound() || !r.ThroughSession():
		return one
	case one.DryRun:
		one.From = r.Holder
		return one
	default:
		fmt.Fprintf(h.notes, "%s: waiting until %s was silent for a lease\n", e.Name, r.Holder)
		by.Locks = h.leasesIn(e.Namespace)
		one.From, err = by.Release(ctx, e.Lock)
		one.Released = err == nil && one.From != ""
	}
	if err != nil {
		one.Error = err.Error()
		*errs = append(*errs, fmt.Errorf("election %s: %w", e.Name, err))
	}
	return one
}

// leasesIn is the store of Leases in a namespace; an empty one is that of the sessions.
func (g *groupCommand) leasesIn(namespace string) lock.Store {
	if namespace == "" {
		return g.realm.Leases
	}
	return g.realm.In(namespace).Leases
}

// handback releases Leases in the name of the operator.
func (g *groupCommand) handback(ctx context.Context, c clock.Clock) *election.Handback {
	return &election.Handback{Clock: c, Locks: g.realm.Leases, Sessions: g.realm.Leases, By: strings.TrimSpace("operator " + operator(ctx, g.cluster))}
}
