package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/configmap"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/election/sweep"
	"github.com/primacy-dev/primacy/pkg/revisions/controller"
)

func newGC() *cobra.Command {
	g := gcCommand{clock: clock.Boottime(), confirm: atTerminal()}
	c := &cobra.Command{
		Use:   "gc",
		Short: "Delete the sessions of members that ended long ago",
		Long: `Delete the sessions of members that ended long ago. Members that come back under new names leave one
each, where no Pod owns it. Members may go on meanwhile.

A session stays while its host has a member, and while a lock tells of a member of its host: others
may still need what it says. A session that has only lapsed is ended by members first. Each session
is deleted only after it was seen unchanged for two of its longest leases, and only as it was then.

Locks are never deleted. With --config, gc lists those of elections that the file does not have. It also
looks at the group's locks in the other namespaces that the file names: give it if there are such.

It needs list, watch and delete on leases, and list and watch on configmaps; in those other namespaces list
and watch on the kinds of locks there. Exit status: 0; 1 if it failed; 2 for a mistake in the command line.`,
		Example: `  primacy gc -n edge-system --dry-run           list them, and what is kept, and why
  primacy gc -n edge-system --yes               delete those that ended more than an hour ago`,
		Args: noArguments,
	}
	addSettings(c.Flags(), groupSettings...)
	c.Flags().BoolVarP(&g.confirm.yes, "yes", "y", false, "do not ask before sessions are deleted")
	c.Flags().DurationVar(&g.olderThan, "older-than", sweep.Keep, "leave sessions that ended more recently, by the clock of whoever ended them")
	c.Flags().DurationVar(&g.timeout, "timeout", 5*time.Minute, "leave sessions that must be watched for longer")
	g.dry, g.output = addDryRun(c.Flags()), addOutput(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		if g.olderThan < 0 || g.timeout < 0 {
			return &usageError{errors.New("--older-than and --timeout must not be negative")}
		}
		return inGroup(c, func(ctx context.Context, of groupCommand) error {
			g.groupCommand = of
			return g.run(ctx)
		})
	}
	return c
}

// gcCommand is one invocation of `primacy gc`.
type gcCommand struct {
	groupCommand
	olderThan, timeout time.Duration
	confirm            *confirmation
	dry                *dryRun
	output             *output
	clock              clock.Clock
}

// collection is what gc deletes and leaves, in JSON and YAML. Fields are added, never renamed.
type collection struct {
	Namespace string `json:"namespace"`
	Group     string `json:"group"`
	// Sessions are those that go, and Kept those that have ended and stay.
	Sessions []oldSession `json:"sessions"`
	Kept     []oldSession `json:"kept"`
	// Locks are those of elections that the configuration does not have. They stay.
	Locks   []leftLock `json:"locks"`
	DryRun  bool       `json:"dryRun,omitempty"`
	Deleted int        `json:"deleted"`
}

// oldSession is a session that has ended.
type oldSession struct {
	Session  string    `json:"session"`
	Identity string    `json:"identity"`
	Ended    time.Time `json:"ended,omitzero"`
	// Why it is kept.
	Why string `json:"why,omitempty"`

	version record.Version
	quiet   time.Duration
}

// leftLock is the lock of an election that the configuration does not have.
type leftLock struct {
	Kind     status.Kind `json:"kind"`
	Name     string      `json:"name"`
	Election string      `json:"election"`
	// Holder is empty if nobody holds it.
	Holder string `json:"holder,omitempty"`
}

func (g *gcCommand) run(ctx context.Context) error {
	looking, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	if g.group == "" {
		report, err := status.Look(looking, g.realm, g.selection)
		if err != nil {
			return g.failed(err)
		}
		if g.group, err = onlyGroup(report, g.namespace); err != nil {
			return err
		}
	}
	found, err := g.find(looking)
	if err != nil {
		return g.failed(err)
	}
	since := g.clock.Now()
	if found.DryRun = bool(*g.dry); found.DryRun || len(found.Sessions) == 0 {
		return g.output.write(g.out, found.text(), found)
	}
	if err := g.confirm.of(ctx, fmt.Sprintf("%s of group %s in namespace %s will be deleted", counted(len(found.Sessions), "session"), g.group, g.namespace)); err != nil {
		return err
	}
	if err := g.watch(ctx, &found, since); err != nil {
		return err
	}
	if err := g.delete(ctx, &found); err != nil {
		return err
	}
	return g.output.write(g.out, found.text(), found)
}

// find looks for sessions that have ended, and for locks.
func (g *gcCommand) find(ctx context.Context) (found collection, err error) {
	found = collection{Namespace: g.namespace, Group: g.group, Sessions: []oldSession{}, Kept: []oldSession{}, Locks: []leftLock{}}
	leases, err := sweep.List(ctx, g.realm.Leases)
	if err != nil {
		return found, err
	}
	maps, err := sweep.List(ctx, g.realm.ConfigMaps)
	if err != nil {
		return found, err
	}
	elsewhere, err := g.elsewhere(ctx)
	if err != nil {
		return found, err
	}
	now := g.clock.Wall()
	for _, e := range sweep.Ended(g.group, leases, slices.Concat(maps, elsewhere)) {
		o := oldSession{Session: e.Name, Identity: e.Identity, Ended: e.Ended.UTC(), Why: e.Kept, version: e.Version, quiet: e.Quiet}
		switch age := now.Sub(e.Ended); {
		case o.Why != "":
		case age < g.olderThan:
			o.Why = fmt.Sprintf("it ended %v ago (--older-than)", max(0, age).Truncate(time.Second))
		case e.Quiet > g.timeout:
			o.Why = fmt.Sprintf("it must be watched for %v (--timeout)", e.Quiet.Round(time.Second))
		default:
			found.Sessions = append(found.Sessions, o)
			continue
		}
		found.Kept = append(found.Kept, o)
	}
	found.Locks = append(g.unconfigured(status.Lease, leases), g.unconfigured(status.ConfigMap, maps)...)
	return found, nil
}

// elsewhere lists the group's locks in the other namespaces that the configuration names. Their names begin with the
// namespace.
func (g *gcCommand) elsewhere(ctx context.Context) (all []lock.Entry, err error) {
	c := g.process.Configuration
	if c == nil {
		return nil, nil
	}
	client, err := configmap.NewClient(g.cluster.config)
	if err != nil {
		return nil, err
	}
	for _, namespace := range c.Namespaces() {
		if namespace == g.namespace {
			continue
		}
		for kind, store := range map[string]lock.Store{
			config.DefaultLockKind: g.leasesIn(namespace),
			kindOfConfigMaps:       configmap.In(client, namespace, configmap.OfGroup(g.group)),
		} {
			names := lockNames(c, kind, namespace)
			if names == nil {
				continue
			}
			there, err := sweep.List(ctx, store)
			if err != nil {
				return nil, fmt.Errorf("locks in namespace %s: %w", namespace, err)
			}
			for _, e := range there {
				if e.Record == nil || e.Record.Group != g.group && !slices.Contains(names, e.Name) {
					continue // it is a stranger's, whose holders may be named like our hosts
				}
				e.Name = namespace + "/" + e.Name
				all = append(all, e)
			}
		}
	}
	return all, nil
}

// unconfigured are the locks of the group's elections that the configuration does not have.
func (g *gcCommand) unconfigured(kind status.Kind, all []lock.Entry) (left []leftLock) {
	left = []leftLock{}
	for _, e := range all {
		r := e.Record
		if r != nil && r.Group == g.group && r.Election != "" && r.Election != controller.ElectionName(g.group) && g.rulebook.without(r.Election) {
			left = append(left, leftLock{kind, e.Name, r.Election, r.Holder})
		}
	}
	return left
}

// watch waits until the sessions were seen unchanged for long enough since they were found. Those that are not as they were
// are kept.
func (g *gcCommand) watch(ctx context.Context, found *collection, since record.Instant) error {
	var longest time.Duration
	for _, s := range found.Sessions {
		longest = max(longest, s.quiet)
	}
	fmt.Fprintf(g.notes, "waiting until nothing has changed for %v\n", longest.Round(time.Second))
	if !clock.Wait(ctx, since.Add(longest).Sub(g.clock.Now())) {
		return errDeclined
	}
	looking, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	now, err := g.find(looking)
	if err != nil {
		return g.failed(err)
	}
	found.Kept, found.Locks = now.Kept, now.Locks
	found.Sessions = slices.DeleteFunc(found.Sessions, func(s oldSession) bool {
		return !slices.ContainsFunc(now.Sessions, func(o oldSession) bool { return o.Session == s.Session && o.version == s.version })
	})
	for _, s := range now.Sessions {
		if !slices.ContainsFunc(found.Sessions, func(o oldSession) bool { return o.Session == s.Session }) {
			s.Why = "it ended meanwhile"
			found.Kept = append(found.Kept, s)
		}
	}
	return nil
}

// delete deletes the sessions as they were found, the earliest first.
func (g *gcCommand) delete(ctx context.Context, found *collection) error {
	leases, can := g.realm.Leases.(lock.Remover)
	if !can {
		return errors.New("this store removes nothing")
	}
	for _, s := range slices.Backward(slices.Clone(found.Sessions)) {
		deleting, cancel := context.WithTimeout(ctx, statusPatience)
		err := leases.Remove(deleting, s.Session, s.version)
		cancel()
		switch {
		case errors.Is(err, lock.ErrConflict):
			found.Sessions = slices.DeleteFunc(found.Sessions, func(o oldSession) bool { return o.Session == s.Session })
			s.Why = "a member uses it again"
			found.Kept = append(found.Kept, s)
		case err != nil && !errors.Is(err, lock.ErrVanished):
			return fmt.Errorf("delete session %s: %w; %s deleted before that", s.Session, err, counted(found.Deleted, "session"))
		default:
			found.Deleted++
		}
	}
	return nil
}

func (f collection) text() string {
	var t strings.Builder
	for _, s := range f.Sessions {
		fmt.Fprintf(&t, "%s: session of %s, ended %s\n", s.Session, s.Identity, s.Ended.Format(time.RFC3339))
	}
	for _, s := range f.Kept {
		fmt.Fprintf(&t, "kept: %s: session of %s, since %s\n", s.Session, s.Identity, s.Why)
	}
	for _, l := range f.Locks {
		holder := "nobody holds it"
		if l.Holder != "" {
			holder = "held by " + l.Holder
		}
		fmt.Fprintf(&t, "left: %s %s: lock of %s, which the configuration does not have; %s (another member may have the election: delete it by hand once none has)\n",
			l.Kind, l.Name, l.Election, holder)
	}
	switch {
	case f.DryRun:
		fmt.Fprintf(&t, "%s would be deleted: --dry-run\n", counted(len(f.Sessions), "session"))
	default:
		fmt.Fprintf(&t, "%s deleted\n", counted(f.Deleted, "session"))
	}
	return t.String()
}
