package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/controller"
)

// validateRunning shows what the members that run would do with the configuration, as far as the API shows it.
func (a *additions) validateRunning(ctx context.Context, g groupCommand) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	report, err := status.Look(ctx, g.realm, g.selection)
	if err != nil {
		return g.failed(err)
	}
	locks, err := newStores(g.cluster.config, g.namespace)
	if err != nil {
		return err
	}
	p := a.checker()
	p.locks = locks
	r := running{process: g.process, report: report, publishes: func(c *config.Configuration) (election.Published, error) {
		return publishedBy(ctx, p, g.process, c)
	}}
	if r.written, err = r.publishes(g.process.Configuration); err != nil {
		return err
	}
	text, err := r.text()
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(g.out, text); err != nil {
		return err
	}
	if len(r.refusals) > 0 {
		return errors.New(strings.Join(r.refusals, "\n"))
	}
	return nil
}

// publishedBy is what a member of the process with the configuration publishes of it.
func publishedBy(ctx context.Context, p planner, process *config.Process, c *config.Configuration) (election.Published, error) {
	plan, err := p.plan(ctx, c)
	if err != nil {
		return election.Published{}, err
	}
	own := controller.ElectionName(process.Group)
	var specs []election.Spec
	if len(own) <= longestName {
		specs = []election.Spec{{Name: own, Lock: own, Bootstrap: election.BootstrapImmediate}}
	}
	for _, e := range plan.elections {
		specs = append(specs, e.spec)
	}
	return election.PublishedBy(election.Config{
		Group: process.Group, Member: election.Member{Revision: c.Member.Revision, Location: c.Member.Location, Weight: c.Member.Weight},
		Locks: p.locks.sessions(), Host: "validate", Timing: c.Timing, Version: version,
	}, specs)
}

// running compares a configuration with the members of its group that run.
type running struct {
	process *config.Process
	report  status.Report
	// publishes is what a member with a configuration publishes of it.
	publishes func(*config.Configuration) (election.Published, error)
	// written is what a member publishes that starts with the file.
	written election.Published
	// refusals are the parts that members would refuse.
	refusals []string
	// migrating are the elections that migrate by the file. Members do not publish whether theirs do.
	migrating []string
	// made are the results of takenBy, by what they depend on.
	made map[kept]taken
	// byLock: the lock of an election is one of them.
	byLock bool
}

// text has a line for each change that can be seen, and one for each living member.
func (r *running) text() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "what members of group %s that run would do with this file, as far as the API shows it:\n", r.process.Group)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(verb, what, text string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\t%s\n", verb, what, fmt.Sprintf(text, args...))
	}
	r.elections(line)
	r.byLock = len(r.refusals) > 0
	live := 0
	for _, m := range r.report.Members {
		if m.Group == r.process.Group && m.State == status.Live {
			live++
			if err := r.member(m, line); err != nil {
				return "", err
			}
		}
	}
	if live == 0 {
		line("", "", "no member lives")
	}
	line("unseen", "", "members do not publish their runners, sources, weights of others, endpoints, or the kinds and namespaces of their locks: validate --against compares these with a file")
	line("unseen", "", "members take up only what they have the rights for, and do not publish their rights: primacy check --pre -f %s, with the credentials of members, asks for them", r.process.Configuration.File)
	for _, note := range r.report.Notes {
		line("unseen", "", "%s", note)
	}
	_ = w.Flush() // a strings.Builder never fails to write
	return trimmed(b.String()), nil
}

// seen is the index of an election of the file among those that have locks; negative if no member has created its lock.
func (r *running) seen(e config.Election) int {
	return slices.IndexFunc(r.report.Elections, func(seen status.Election) bool { return seen.Name == e.Name && seen.State != status.Absent })
}

// elections compares the locks that are held with those of the file.
func (r *running) elections(line func(verb, what, text string, args ...any)) {
	c := r.process.Configuration
	for _, e := range c.Elections {
		if e.Disabled {
			continue
		}
		at := r.seen(e)
		if at < 0 {
			line("adds", e.Name, "no member has created its lock: members take part from now on")
			continue
		}
		seen := r.report.Elections[at]
		kept := slices.ContainsFunc(e.LockNames(), func(l config.LockName) bool { return refOf(l) == seen.Ref() })
		if !kept && seen.State == status.Led && seen.Group == r.process.Group {
			line("refuses", e.Name, "%s leads it by %s", view.NameOf(seen.Holder), seen.Ref())
			r.refusals = append(r.refusals, fmt.Sprintf("%s: election %s: its lock would be %s, and %s leads it by %s (name the old lock in migrateFrom)",
				c.File, e.Name, refOf(e.Lock.LockName()), view.NameOf(seen.Holder), seen.Ref()))
			continue
		}
		if len(e.LockNames()) > 1 {
			r.migrating = append(r.migrating, e.Name)
		}
		if seen.State != status.Led || seen.Group != r.process.Group {
			continue
		}
		if moves := migration(e, seen); moves != "" {
			line("migrates", e.Name, "%s", moves)
		}
	}
	for _, seen := range r.report.Elections {
		known := seen.Name == controller.ElectionName(r.process.Group) ||
			slices.ContainsFunc(c.Elections, func(e config.Election) bool { return e.Name == seen.Name && !e.Disabled })
		if !known && seen.Group == r.process.Group && seen.State == status.Led {
			line("removes", seen.Name, "%s leads it: its work stops and its lock is released", view.NameOf(seen.Holder))
		}
	}
}

// migration says how the locks that the file gives an election differ from those that its holder, a member, has; empty if they do not.
func migration(e config.Election, seen status.Election) string {
	var wanted []status.Ref
	for _, l := range e.LockNames() {
		wanted = append(wanted, refOf(l))
	}
	held := locksHeld(seen)
	lacks := func(all []status.Ref) func(status.Ref) bool {
		return func(one status.Ref) bool { return !slices.Contains(all, one) }
	}
	switch at := slices.IndexFunc(held, lacks(wanted)); {
	case at >= 0:
		return fmt.Sprintf("%s is no longer its lock: a member that has both stops its work, releases that one and starts again; one that has no other refuses the file", held[at])
	case slices.ContainsFunc(wanted, lacks(held)):
		return fmt.Sprintf("its lock moves from %s to %s: a member that has not taken this up yet stops its work, takes both and starts again", wanted[0], wanted[1])
	}
	return ""
}

// kept is what a member publishes of the timings that it keeps until a restart.
type kept struct {
	leaseSeconds int
	drift        float64
}

// taken is a configuration as a running member takes it up: with what it keeps until a restart.
type taken struct {
	election.Published
	// known is what the member publishes of the elections that have locks.
	known election.Published
	// guessed: the member does not publish all the timings that it keeps.
	guessed bool
	// refused says why the member would not take it up; empty if it would.
	refused string
}

// takenBy is the file as a member would take it up.
func (r *running) takenBy(m status.Member) (t taken, err error) {
	by := kept{m.LeaseSeconds, m.Drift}
	if t, made := r.made[by]; made {
		return t, nil
	}
	t.guessed = m.LeaseSeconds != 0 && r.lease() != m.LeaseSeconds
	next, refused := r.keeping(by)
	if t.refused = refused; refused == "" {
		if t.Published, err = r.publishes(next); err != nil {
			return t, err
		}
		known := *next
		known.Elections = slices.DeleteFunc(slices.Clone(known.Elections), func(e config.Election) bool { return !e.Disabled && r.seen(e) < 0 })
		if t.known, err = r.publishes(&known); err != nil {
			return t, err
		}
	}
	if r.made == nil {
		r.made = map[kept]taken{}
	}
	r.made[by] = t
	return t, nil
}

// lease is the file's leaseDuration as sessions publish it, in seconds.
func (r *running) lease() int { return int(r.process.Configuration.Timing.LeaseDuration.Seconds()) }

// member compares what a member publishes with what it would publish.
func (r *running) member(m status.Member, line func(verb, what, text string, args ...any)) error {
	c := r.process.Configuration
	names, setup := m.Publishes()
	who := view.NameOf(m.Identity)
	if m.Revision != c.Member.Revision && slices.ContainsFunc(c.Elections, func(e config.Election) bool { return e.Suffix != "" }) {
		line("differs", who, "it is of revision %s, so elections of scope: revision have other names there: validate --against compares them", m.Revision)
		return nil
	}
	written, err := r.takenBy(m)
	if err != nil {
		return err
	}
	if written.refused != "" {
		line("refuses", who, "%s", written.refused)
		return nil
	}
	var takes []string
	adds := names == written.known.Elections && names != written.Elections && setup.Rules == written.known.Rules && setup.Timings == written.known.Timings
	switch {
	case setup.Rules == "":
		line("unknown", who, "it publishes nothing about its elections")
		return nil
	case adds:
		line("reloads", who, "it takes part in the elections that are added; it has all others so, and nothing stops%s", r.butMigrations())
	case names != written.Elections:
		line("reloads", who, "elections come or go: those that go stop and release their locks; whether others differ does not show")
	default:
		if setup.Rules != written.Rules {
			takes = append(takes, "the rules of some differ (lock, priority, bootstrap, sharedWith, range or outage)")
		}
		if setup.Timings != written.Timings && !written.guessed {
			takes = append(takes, "the timings of some differ")
		}
	}
	if len(takes) > 0 {
		line("reloads", who, "%s: what differs is exchanged, so work stops and locks are released", strings.Join(takes, ", and "))
	}
	var waits []string
	if written.guessed {
		waits = append(waits, fmt.Sprintf("timing.leaseDuration %ds (it has %ds)", r.lease(), m.LeaseSeconds))
	}
	if setup.DriftPPM != r.written.DriftPPM {
		waits = append(waits, fmt.Sprintf("timing.drift %v (it has %v)", r.written.Drift(), setup.Drift()))
	}
	if len(waits) > 0 {
		line("waits", who, "%s: a restart takes it up", strings.Join(waits, ", "))
	}
	if written.guessed && setup.Timings != written.Timings && names == written.Elections {
		line("unseen", who, "whether timings of its elections differ otherwise does not show")
	}
	if len(takes)+len(waits) == 0 && names == written.Elections {
		line("keeps", who, "it has the same elections, rules and timings%s", r.butMigrations())
	}
	return nil
}

// butMigrations is what is added where a member seems to have everything as the file has it.
func (r *running) butMigrations() string {
	if r.migrating == nil {
		return ""
	}
	return ", unless its migration of " + strings.Join(r.migrating, ", ") + " is another, which does not show"
}

// keeping is the file with what a member keeps until a restart. refused says why the member would refuse the file; empty if it
// would not, as far as the API shows it. A member takes up all of a file or none.
func (r *running) keeping(by kept) (next *config.Configuration, refused string) {
	if r.byLock {
		return nil, "all of it, since a member takes up all of a file or none"
	}
	written := r.process.Configuration
	inForce := *written
	if by.leaseSeconds != 0 {
		inForce.Timing.LeaseDuration = time.Duration(by.leaseSeconds) * time.Second
	}
	if by.drift != 0 {
		inForce.Timing.Drift = by.drift
	}
	if inForce.Timing == written.Timing {
		return written, ""
	}
	if inForce.Timing.LeaseDuration != written.Timing.LeaseDuration { // members do not publish it; profiles are near this ratio
		inForce.Timing.RenewInterval = inForce.Timing.LeaseDuration / 5
	}
	plan, err := config.NewPlan(&inForce, written)
	if err != nil {
		if text := err.Error(); !slices.Contains(r.refusals, text) {
			r.refusals = append(r.refusals, text)
		}
		return nil, "its timings do not go with those that it keeps until a restart"
	}
	return plan.Next, ""
}
