package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

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
It waits for all holders at the same time, and releases no lock whose holder lives: stop that member first.

Locks that expire by themselves, and those that nobody holds, are left as they are. It needs list,
watch, get and update on leases. Where a policy of primacy generate lock-policy is applied, it needs a
kubeconfig whose user acts as the service account of the members, with as.

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
	// Lives says, with --dry-run, that From has renewed its session within a lease.
	Lives  bool   `json:"lives,omitempty"`
	DryRun bool   `json:"dryRun,omitempty"`
	Error  string `json:"error,omitempty"`
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
	done, err := h.handBack(ctx, *h.handback(ctx, h.clock), chosen)
	for i, one := range done {
		done[i].Lives = one.DryRun && lives(report, one.From)
	}
	var text strings.Builder
	for _, one := range done {
		switch {
		case one.Error != "":
		case one.From == "":
			fmt.Fprintf(&text, "%s: nothing to do: another elector can take it, or it expires by itself\n", one.Election)
		case one.Released:
			fmt.Fprintf(&text, "%s: released; it was %s's\n", one.Election, one.From)
		case one.Lives:
			fmt.Fprintf(&text, "%s: %s renewed its session within a lease, so it seems to live, and would keep the lock (stop that member first): --dry-run\n", one.Election, one.From)
		default:
			fmt.Fprintf(&text, "%s: would be released once %s is silent for a lease: --dry-run\n", one.Election, one.From)
		}
	}
	if err := h.output.write(h.out, text.String(), done); err != nil {
		return err
	}
	if errors.Is(err, election.ErrHolderLives) {
		return refused(fmt.Errorf("%w (stop that member first)", err))
	}
	return err
}

// lives says whether a member has renewed its session lately, by a report.
func lives(r status.Report, identity string) bool {
	return slices.ContainsFunc(r.Members, func(m status.Member) bool { return m.Identity == identity && m.State == status.Live })
}

// choose returns the elections that the operator asked for, and each of them once more for each other Lease that it had.
func (h *handbackCommand) choose(r status.Report) (chosen []status.Election, err error) {
	var asked []status.Election
	if h.all {
		asked = slices.DeleteFunc(slices.Clone(r.Elections), func(e status.Election) bool { return e.Group != h.group })
	}
	for _, name := range h.elections {
		e, err := electionNamed(r, name, h.namespace)
		if err != nil {
			return nil, err
		}
		asked = append(asked, e)
	}
	for _, e := range asked {
		chosen = append(chosen, e)
		for _, o := range e.Others {
			if o.Kind == status.Lease && o.Holder != "" {
				chosen = append(chosen, status.Election{Name: e.Name, Group: e.Group, Kind: o.Kind, Lock: o.Name, Namespace: o.Namespace})
			}
		}
	}
	return chosen, nil
}

// handBack releases the locks. It waits for all holders at the same time, and for each of them once.
func (h *handbackCommand) handBack(ctx context.Context, with election.Handback, chosen []status.Election) (all []handedBack, err error) {
	all = make([]handedBack, len(chosen))
	errs := make([]error, len(chosen))
	of := map[string][]int{}
	leases := make([]lock.Store, len(chosen))
	for i, e := range chosen {
		leases[i] = h.leasesIn(e.Namespace)
		if all[i], errs[i] = h.holding(ctx, e); errs[i] == nil && all[i].From != "" && !all[i].DryRun {
			of[all[i].From] = append(of[all[i].From], i)
		}
	}
	var holders sync.WaitGroup
	for _, holder := range slices.Sorted(maps.Keys(of)) {
		held := of[holder]
		fmt.Fprintf(h.notes, "%s: waiting until %s was silent for a lease\n", electionsOf(all, held), holder)
		by := with // each holder's goroutine has its own
		holders.Go(func() {
			for n, i := range held {
				if errs[i] != nil {
					continue
				}
				by.Leases = leases[i]
				all[i].From, errs[i] = by.Release(ctx, all[i].Lock)
				all[i].Released = errs[i] == nil && all[i].From != ""
				for _, rest := range held[n+1:] { // of the others of this holder, those for which the answer would be the same
					if errors.Is(errs[i], election.ErrHolderLives) || errors.Is(errs[i], lock.ErrDenied) && all[rest].Namespace == all[i].Namespace {
						errs[rest] = errs[i]
					}
				}
			}
		})
	}
	holders.Wait()
	return all, handbackErrors(all, errs)
}

// holding says who holds a lock that does not expire by itself.
func (h *handbackCommand) holding(ctx context.Context, e status.Election) (handedBack, error) {
	one := handedBack{Election: e.Name, Kind: string(e.Kind), Lock: e.Lock, Namespace: e.Namespace, DryRun: bool(*h.dry)}
	if e.Kind != status.Lease {
		return one, nil
	}
	seen, err := h.leasesIn(e.Namespace).Get(ctx, e.Lock)
	if r := seen.Record; err == nil && r != nil && r.Bound() && r.ThroughSession() {
		one.From = r.Holder
	}
	return one, err
}

// handbackErrors notes each election's error, and joins those that differ.
func handbackErrors(all []handedBack, errs []error) error {
	type failure struct {
		err error
		of  []int
	}
	var failures []failure
	for i, err := range errs {
		if err == nil {
			continue
		}
		all[i].Error = err.Error()
		at := slices.IndexFunc(failures, func(f failure) bool { // one denial explains the others
			return f.err == err || errors.Is(f.err, lock.ErrDenied) && errors.Is(err, lock.ErrDenied)
		})
		if at < 0 {
			at = len(failures)
			failures = append(failures, failure{err: err})
		}
		failures[at].of = append(failures[at].of, i)
	}
	var joined []error
	for _, f := range failures {
		hint, which := "", "election"
		if len(f.of) > 1 {
			which = "elections"
		}
		if errors.Is(f.err, lock.ErrDenied) {
			hint = " (" + asMembers + ")"
		}
		joined = append(joined, fmt.Errorf("%s %s: %w%s", which, electionsOf(all, f.of), f.err, hint))
	}
	return errors.Join(joined...)
}

// electionsOf names some of the elections.
func electionsOf(all []handedBack, which []int) string {
	names := make([]string, len(which))
	for n, i := range which {
		names[n] = all[i].Election
	}
	return strings.Join(names, ", ")
}

// leasesIn is the store of Leases in a namespace; an empty one is that of the sessions. It makes one store for each
// namespace: a Handback knows a session by its store and name, and waits only once for all its locks.
func (g *groupCommand) leasesIn(namespace string) lock.Store {
	if namespace == "" {
		return g.realm.Leases
	}
	if g.places[namespace] == nil {
		if g.places == nil {
			g.places = map[string]lock.Store{}
		}
		g.places[namespace] = g.realm.In(namespace).Leases
	}
	return g.places[namespace]
}

// handback releases Leases in the name of the operator.
func (g *groupCommand) handback(ctx context.Context, c clock.Clock) *election.Handback {
	return &election.Handback{Clock: c, Leases: g.realm.Leases, By: strings.TrimSpace("operator " + operator(ctx, g.cluster))}
}
