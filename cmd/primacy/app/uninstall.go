package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/apiserver"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

func newUninstall() *cobra.Command {
	u := uninstallCommand{clock: clock.Boottime(), confirm: atTerminal()}
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Delete what a group has left in the API, once no member lives",
		Long: `Delete the objects that members and commands of a group have written: sessions, locks, and the
ConfigMap with pins and the rollout. First remove the members and what you applied for them, with
the tool by which you applied it (helm uninstall, kubectl delete -k).

It refuses while a member lives. If a member has died without the end of its session, it waits
until nothing of the group has changed for the longest lease, and deletes each object only as it
was then. A member that cannot reach the API server is not seen: with outage: failopen its work may go on.
It leaves locks that an elector that is not Primacy made, or holds. Before it deletes anything, and in a dry run, it asks
the API server whether it may delete each object.

It needs list, watch, get and delete on leases and configmaps, and update on leases if a dead member
holds one. Exit status: 0; 1 if it failed; 2 for a mistake in the command line; 5 when it refuses. A dry run exits as the
command would.`,
		Example: `  primacy uninstall -n edge-system --dry-run   list every object
  primacy uninstall -n edge-system --yes       delete them`,
		Args: noArguments,
	}
	addSettings(c.Flags(), groupSettings...)
	c.Flags().BoolVarP(&u.confirm.yes, "yes", "y", false, "do not ask before objects are deleted")
	u.dry, u.output = addDryRun(c.Flags()), addOutput(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		return inGroup(c, func(ctx context.Context, g groupCommand) error {
			u.groupCommand = g
			return u.run(ctx)
		})
	}
	return c
}

// uninstallCommand is one invocation of `primacy uninstall`.
type uninstallCommand struct {
	groupCommand
	api coordinationclient.LeasesGetter
	// bySession is how long the terms last of those Leases that state more than any lease may last, as far as we looked.
	// Nearly all of these are renewed by their holders' sessions, and state a year. The session may be gone, or have ended by a
	// proof, while what it renewed is at work.
	bySession map[status.Ref]time.Duration
	// published is the longest lease of any member whose session has not ended, and of earlier members of these sessions' slots.
	published time.Duration
	confirm   *confirmation
	dry       *dryRun
	output    *output
	clock     clock.Clock
}

// uninstallation is what is deleted, in JSON and YAML. Fields are added, never renamed.
type uninstallation struct {
	Namespace string        `json:"namespace"`
	Group     string        `json:"group"`
	Objects   []ownedObject `json:"objects"`
	// Kept are objects with our labels that are also a stranger's.
	Kept []ownedObject `json:"kept"`
	// Living are the members because of which nothing is deleted.
	Living []string `json:"living"`
	DryRun bool     `json:"dryRun,omitempty"`
	// Refused says why the API server would not delete the objects; set in a dry run, if no member lives.
	Refused string `json:"refused,omitempty"`
	Deleted int    `json:"deleted"`

	// beside are the sessions that renew locks in other namespaces. Each is in the namespace of its locks. While one of
	// them changes, its member lives, and we delete nothing.
	beside []ownedObject
}

// ownedObject is one object that a group has written.
type ownedObject struct {
	Kind status.Kind `json:"kind"`
	Name string      `json:"name"`
	// Namespace is where it is; empty for that of the sessions.
	Namespace string `json:"namespace,omitempty"`
	// What is a session, the lock of an election, or pins and the rollout.
	What string `json:"what"`
	// Why it is kept.
	Why string `json:"why,omitempty"`

	version metav1.Preconditions
	// lasts is how long its holder may be at work after the last renewal; zero without a holder.
	lasts time.Duration
}

const whatSession = "session"

// failed adds to a refusal what this command needs, which is less than members need, and more.
func (u *uninstallCommand) failed(err error) error {
	if denied(err) {
		return fmt.Errorf("%w; uninstall needs list, watch, get and delete on leases and configmaps, and update on leases if a dead member holds one; if there is a lock policy or a fence policy, delete it first", u.statusCommand.failed(err))
	}
	return u.statusCommand.failed(err)
}

// denied says whether the API refused a request for lack of a right.
func denied(err error) bool { return errors.Is(err, lock.ErrDenied) || apierrors.IsForbidden(err) }

func (u *uninstallCommand) run(ctx context.Context) error {
	looking, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	report, err := status.Look(looking, u.realm, u.selection)
	if err != nil {
		return u.failed(err)
	}
	if u.group == "" {
		if u.group, err = onlyGroup(report, u.namespace); err != nil {
			return err
		}
	}
	client, err := apiserver.ClientFor(u.cluster.config, coordinationclient.NewForConfigAndClient)
	if err != nil {
		return err
	}
	u.api, u.bySession = client, map[status.Ref]time.Duration{}
	for _, e := range report.Elections {
		if e.Kind == status.Lease && e.EndsWithSession() {
			u.bySession[e.Ref()] = e.Lasts()
		}
	}
	for _, m := range report.Members {
		if m.Group == u.group && m.State != status.Ended {
			u.published = max(u.published, m.LongestLease())
		}
	}
	found, err := u.find(looking)
	if err != nil {
		return u.failed(err)
	}
	u.noteLeft(report)
	for _, m := range report.Members {
		if m.State == status.Live && m.Group == u.group {
			found.Living = append(found.Living, m.Identity)
		}
	}
	if found.DryRun = bool(*u.dry); found.DryRun {
		return u.preview(ctx, found)
	}
	if err := u.mayDelete(ctx, found, "nothing was deleted"); err != nil {
		return err
	}
	if err := u.confirm.of(ctx, fmt.Sprintf("%s of group %s in namespace %s will be deleted", counted(len(found.Objects), "object"), u.group, u.namespace)); err != nil {
		return err
	}
	if found, err = u.handBack(ctx, found); err != nil {
		return err
	}
	if err := u.silence(ctx, found); err != nil {
		return err
	}
	if err := u.delete(ctx, &found); err != nil {
		return err
	}
	return u.output.write(u.out, found.text(), found)
}

// preview shows what would be deleted. The error is the one that the command would end with at once, if it would.
func (u *uninstallCommand) preview(ctx context.Context, found uninstallation) error {
	err := u.mayDelete(ctx, found, "nothing would be deleted")
	switch {
	case len(found.Living) > 0:
	case denied(err):
		found.Refused = oneLine(err)
	case err != nil:
		return err
	}
	return errors.Join(u.output.write(u.out, found.text(), found), err)
}

// mayDelete returns an error if a member lives, or if the API server would not delete the objects.
func (u *uninstallCommand) mayDelete(ctx context.Context, found uninstallation, so string) error {
	if len(found.Living) > 0 {
		return refused(fmt.Errorf("%s; %s (stop all members first; the session of one that has died lapses by itself)", found.living(), so))
	}
	if err := u.rehearse(ctx, found); err != nil {
		return u.failed(fmt.Errorf("%w; %s", err, so))
	}
	return nil
}

// noteLeft notes the namespaces in which locks of the group stay, since the configuration does not name them.
func (u *uninstallCommand) noteLeft(r status.Report) {
	named := map[string]bool{"": true}
	for _, e := range u.selection.Expected {
		named[e.Namespace], named[e.MigrateFrom.Namespace] = true, true
	}
	for _, m := range r.Members {
		_, setup := m.Publishes()
		for place := range strings.SplitSeq(setup.Places, ",") {
			if m.Group == u.group && !named[place] {
				named[place] = true
				fmt.Fprintf(u.notes, "note: locks of the group in namespace %q stay: only the configuration of its members names them (give --config)\n", place)
			}
		}
	}
}

// handBack releases the locks that are kept and that dead members hold: without sessions nobody would take them. It
// returns what there is then.
func (u *uninstallCommand) handBack(ctx context.Context, found uninstallation) (uninstallation, error) {
	again, by := false, u.handback(ctx, u.clock)
	for _, o := range found.Kept {
		if o.Kind != status.Lease || o.What == whatSession {
			continue
		}
		by.Leases = u.leasesIn(o.Namespace)
		from, err := by.Release(ctx, o.Name)
		if errors.Is(err, election.ErrHolderLives) {
			return found, refused(fmt.Errorf("%w; nothing was deleted (stop all members first)", err))
		} else if denied(err) {
			return found, u.failed(err)
		} else if err != nil {
			return found, err
		}
		again = again || from != ""
	}
	if !again {
		return found, nil
	}
	looking, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	now, err := u.find(looking)
	if err != nil {
		return found, u.failed(err)
	}
	return now, nil
}

// silencePause is the time between two looks.
const silencePause = time.Second

// silence waits until nothing of the group has changed for the longest lease: then no member is at work any more. It looks
// once in any case, since members may have started while a person was asked.
func (u *uninstallCommand) silence(ctx context.Context, found uninstallation) error {
	longest := u.published
	for _, o := range slices.Concat(found.Objects, found.beside) {
		longest = max(longest, o.lasts)
	}
	if longest == 0 {
		return u.unchanged(ctx, found)
	}
	longest += longest/50 + silencePause // the clocks of members and ours differ
	fmt.Fprintf(u.notes, "waiting until nothing has changed for %v\n", longest.Round(time.Second))
	since, answered := u.clock.Now(), u.clock.Now()
	for clock.Wait(ctx, silencePause) {
		sent := u.clock.Now()
		looking, cancel := context.WithTimeout(ctx, statusPatience)
		now, err := u.find(looking)
		cancel()
		if ctx.Err() != nil {
			break
		}
		if err != nil || u.clock.Now().Sub(answered) > longest/2 {
			since, answered = u.clock.Now(), u.clock.Now() // members may have been cut off as well
			if err != nil && !apierrors.IsTimeout(err) && !errors.Is(err, context.DeadlineExceeded) {
				return u.failed(err)
			}
			continue
		}
		answered = u.clock.Now()
		if err := refusedIfChanged(found, now); err != nil {
			return err
		}
		if sent.Sub(since) >= longest {
			return nil
		}
	}
	return errors.New("interrupted; nothing was deleted")
}

// unchanged refuses if anything is not as it was found.
func (u *uninstallCommand) unchanged(ctx context.Context, found uninstallation) error {
	looking, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	now, err := u.find(looking)
	if err != nil {
		return u.failed(err)
	}
	return refusedIfChanged(found, now)
}

func refusedIfChanged(found, now uninstallation) error {
	if changed := changedSince(slices.Concat(found.Objects, found.beside), slices.Concat(now.Objects, now.beside)); changed != "" {
		return refused(fmt.Errorf("%s has changed, so a member lives; nothing was deleted (stop all members first)", changed))
	}
	return nil
}

// changedSince names an object that is not as it was.
func changedSince(before, now []ownedObject) string {
	versions := func(all []ownedObject) map[string]string {
		m := map[string]string{}
		for _, o := range all {
			m[o.ref().String()] = string(*o.version.UID) + " " + *o.version.ResourceVersion
		}
		return m
	}
	was, is := versions(before), versions(now)
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if was[name] != is[name] {
			return name
		}
	}
	return ""
}

// delete deletes the objects as they were found, sessions first: a member that comes back then loses nothing but its session.
func (u *uninstallCommand) delete(ctx context.Context, found *uninstallation) error {
	slices.SortStableFunc(found.Objects, func(a, b ownedObject) int {
		return cmp.Compare(a.order(), b.order())
	})
	for _, o := range found.Objects {
		err := u.remove(ctx, o, metav1.DeleteOptions{Preconditions: &o.version})
		switch {
		case apierrors.IsNotFound(err): // somebody else deleted it
			continue
		case apierrors.IsConflict(err):
			return refused(fmt.Errorf("%s has changed, so a member lives; %s deleted before that (stop all members first)",
				o.ref(), counted(found.Deleted, "object")))
		case err != nil:
			err = fmt.Errorf("delete %s: %w; %s deleted before that", o.ref(), err, counted(found.Deleted, "object"))
			if denied(err) {
				return u.failed(err)
			}
			return err
		}
		found.Deleted++
	}
	return nil
}

// rehearse asks the API server whether it would delete the objects: rights and policies may forbid it.
func (u *uninstallCommand) rehearse(ctx context.Context, found uninstallation) error {
	for _, o := range found.Objects {
		if err := u.remove(ctx, o, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s: %w", o.ref(), err)
		}
	}
	return nil
}

func (u *uninstallCommand) remove(ctx context.Context, o ownedObject, how metav1.DeleteOptions) error {
	remove := u.api.Leases(cmp.Or(o.Namespace, u.namespace)).Delete
	if o.Kind == status.ConfigMap {
		remove = u.core.ConfigMaps(cmp.Or(o.Namespace, u.namespace)).Delete
	}
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	return remove(ctx, o.Name, how)
}

func (o ownedObject) ref() status.Ref {
	return status.Ref{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

// order is the place of an object among all that are deleted.
func (o ownedObject) order() int {
	if o.What == whatSession {
		return 0
	}
	return 1
}

func (f uninstallation) living() string {
	if len(f.Living) == 1 {
		return "member " + f.Living[0] + " lives"
	}
	return fmt.Sprintf("members %s live", strings.Join(f.Living, ", "))
}

func (f uninstallation) text() string {
	var t strings.Builder
	for _, o := range f.Objects {
		fmt.Fprintf(&t, "%s: %s\n", o.ref(), o.What)
	}
	for _, o := range f.Kept {
		fmt.Fprintf(&t, "kept: %s: %s, but %s\n", o.ref(), o.What, o.Why)
	}
	switch {
	case f.DryRun && (len(f.Living) > 0 || f.Refused != ""): // the error says why
	case f.DryRun:
		fmt.Fprintf(&t, "%s would be deleted: --dry-run\n", counted(len(f.Objects), "object"))
	default:
		fmt.Fprintf(&t, "%s deleted\n", counted(f.Deleted, "object"))
	}
	return t.String()
}
