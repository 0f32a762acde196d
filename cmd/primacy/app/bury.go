package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

func newBury() *cobra.Command {
	b := buryCommand{confirm: atTerminal(), clock: clock.Boottime()}
	c := &cobra.Command{
		Use:   "bury MEMBER",
		Short: "End the session of a member that you know to be dead, so that others lead its elections",
		Long: `End the session of a member before it has lapsed. Only do that if you know that the member
and all of its work are dead: its machine is switched off, or its Pod is gone for good. If the
member lives, two members may then work at once.

MEMBER is the name of its Pod or host, its identity, or its session, as primacy status shows
them. The member must allow it, by member: {proofs: [operator]} in its configuration. You type
its exact identity, or give --identity. Then primacy waits until the session was silent for two
renewIntervals, and refuses if a beat comes; so does --dry-run. It needs list, watch, get and update on leases. Where
a policy of primacy generate lock-policy is applied, it needs a kubeconfig whose user acts as the
service account of the members, with as.

Exit status: 0 when the session has ended, or with --dry-run could be; 1 when that failed; 2 for
a mistake in the command line; 5 when it refuses: the member beats, does not allow it, or is
another one. Nothing is changed then.`,
		Args: oneMember,
	}
	addSettings(c.Flags(), groupSettings...)
	c.Flags().StringVar(&b.identity, "identity", "", "the exact identity of the dead member, in place of the question")
	c.Flags().StringVar(&b.reason, "reason", "", "how you know that it is dead, for the record")
	b.dry, b.output = addDryRun(c.Flags()), addOutput(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := checkReason(b.reason); err != nil {
			return &usageError{err}
		}
		return inGroup(c, func(ctx context.Context, g groupCommand) error {
			b.groupCommand, b.member = g, args[0]
			return b.run(ctx)
		})
	}
	return c
}

// buryCommand is one invocation of `primacy bury`.
type buryCommand struct {
	groupCommand
	// member, identity and reason are as given on the command line.
	member, identity, reason string
	confirm                  *confirmation
	dry                      *dryRun
	output                   *output
	clock                    clock.Clock
}

// mostReason is how long a reason may be, so that all of it fits into the record.
const mostReason = 100

func checkReason(reason string) error {
	switch {
	case len(reason) > mostReason:
		return fmt.Errorf("--reason: %d bytes are more than %d (shorten it)", len(reason), mostReason)
	case strings.ContainsFunc(reason, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }):
		return fmt.Errorf("--reason: %q is no line of text (leave out what cannot be printed)", reason)
	}
	return nil
}

// sessionEnd is what ends, in JSON and YAML. Fields are added, never renamed.
type sessionEnd struct {
	Identity string `json:"identity"`
	Session  string `json:"session"`
	Revision string `json:"revision,omitempty"`
	// Beat is the last beat that was seen, and Renewed when the member wrote it, by its own clock.
	Beat    uint64         `json:"beat"`
	Renewed time.Time      `json:"renewed,omitzero"`
	Proofs  []record.Proof `json:"proofs"`
	// Frees are the elections that others may lead at once, and Keeps those that end only with their leases.
	Frees  []string       `json:"frees"`
	Keeps  []keptElection `json:"keeps"`
	DryRun bool           `json:"dryRun,omitempty"`
	Ended  bool           `json:"ended"`
}

// keptElection is an election that the end of its holder's session does not free.
type keptElection struct {
	Election string `json:"election"`
	Why      string `json:"why"`
}

func (b *buryCommand) run(ctx context.Context) error {
	seen, shown, err := b.look(ctx)
	if err != nil {
		return err
	}
	death := election.Death{
		Proof: election.ProofOperator, Identity: shown.Identity, By: strings.TrimSpace("operator " + operator(ctx, b.cluster)),
		How: "an operator said so", At: b.clock.Wall(),
	}
	if b.reason != "" {
		death.How += ": " + b.reason
	}
	quiet, err := election.CheckWord(seen, death)
	if err != nil {
		return b.refuse(err, seen.Record)
	}
	if b.identity != "" && b.identity != shown.Identity {
		return refused(fmt.Errorf("session %s is that of %s, not of %s; nothing was changed (primacy status shows who lives)", shown.Session, shown.Identity, b.identity))
	}
	sessions := b.realm.Leases
	if shown.DryRun = bool(*b.dry); shown.DryRun {
		sessions = unwritten{sessions}
		if err := b.output.write(b.out, shown.text(), shown); err != nil {
			return err
		}
	} else if err := b.ask(ctx, shown); err != nil {
		return err
	}
	fmt.Fprintf(b.notes, "waiting for %v of silence\n", quiet.Round(time.Millisecond))
	ctx, cancel := context.WithTimeout(ctx, quiet+statusPatience)
	defer cancel()
	if err := election.BuryOnWord(ctx, b.clock, sessions, seen, death); err != nil || shown.DryRun {
		return b.refuse(err, seen.Record)
	}
	shown.Ended = true
	text := fmt.Sprintf("the session of %s has ended\n", shown.Identity)
	if b.identity != "" { // otherwise it stands above the question
		text = shown.text()
	}
	return b.output.write(b.out, text, shown)
}

// unwritten is a store for --dry-run: it takes every write for done, and does none.
type unwritten struct{ lock.Store }

func (unwritten) Put(_ context.Context, _ string, _ record.Record, replaces record.Version) (record.Version, error) {
	return replaces, nil
}

// asMembers is what to do if the API server denies writes of sessions and locks.
const asMembers = "where a lock policy is applied, use a kubeconfig whose user acts as the service account of the members, with as"

// refuse says why a session was not ended, with a hint.
func (b *buryCommand) refuse(err error, session *record.Record) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, election.ErrRefuted):
		return refused(fmt.Errorf("%w; seen at %s by this machine's clock; nothing was changed (do not bury a member that beats: stop it, or switch its machine off first)",
			err, b.clock.Wall().Format(time.RFC3339)))
	case session.Member != nil && !slices.Contains(session.Member.Proofs, election.ProofOperator):
		return refused(fmt.Errorf("%w; nothing was changed (to allow it, write member: {proofs: [operator]} into the configuration of the members, and restart them; this session lapses by itself)", err))
	case errors.Is(err, lock.ErrDenied):
		return fmt.Errorf("%w; nothing was changed (%s)", err, asMembers)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w (is the API server overloaded? try again)", err)
	}
	return err
}

// look finds the member's session, and what ends with it.
func (b *buryCommand) look(ctx context.Context) (seen lock.Entry, shown sessionEnd, err error) {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	report, err := status.Look(ctx, b.realm, b.selection)
	if err != nil {
		return seen, shown, b.failed(err)
	}
	m, err := b.find(report)
	if err != nil {
		return seen, shown, err
	}
	if seen, err = b.realm.Leases.Get(ctx, m.Session); err != nil {
		return seen, shown, b.failed(err)
	}
	r := seen.Record
	if r == nil || !r.Bound() || r.Member == nil || r.Holder != m.Identity {
		return seen, shown, refused(fmt.Errorf("session %s is no longer that of %s; nothing was changed (primacy status shows who lives)", m.Session, m.Identity))
	}
	shown = sessionEnd{
		Identity: m.Identity, Session: m.Session, Revision: m.Revision, Beat: r.Mark.Beat, Renewed: r.Renewed,
		Proofs: append([]record.Proof{}, r.Member.Proofs...), Frees: []string{}, Keeps: []keptElection{},
	}
	for _, e := range report.Elections {
		switch {
		case e.Holder != m.Identity:
		case r.Member.KeepsOpen(e.Name):
			shown.Keeps = append(shown.Keeps, keptElection{e.Name, "it fails open"})
		case !e.EndsWithSession():
			shown.Keeps = append(shown.Keeps, keptElection{e.Name, "its lock is renewed by its record"})
		default:
			shown.Frees = append(shown.Frees, e.Name)
		}
	}
	return seen, shown, nil
}

// find is the member whose session has not ended.
func (b *buryCommand) find(r status.Report) (status.Member, error) {
	var found []status.Member
	for _, m := range r.Members {
		if m.State != status.Ended && slices.Contains([]string{m.Identity, m.Session, record.HostOf(m.Identity)}, b.member) {
			found = append(found, m)
		}
	}
	switch len(found) {
	case 0:
		return status.Member{}, fmt.Errorf("no member %s with a session that has not ended is seen in namespace %s (primacy status lists the members)", b.member, b.namespace)
	case 1:
		return found[0], nil
	}
	var names []string
	for _, m := range found {
		names = append(names, m.Identity)
	}
	return status.Member{}, &usageError{fmt.Errorf("which member? %s may be %s (give the identity)", b.member, strings.Join(names, " or "))}
}

// ask wants the identity typed, unless it was given.
func (b *buryCommand) ask(ctx context.Context, shown sessionEnd) error {
	if b.identity != "" {
		return nil
	}
	if !b.confirm.ask {
		return &usageError{errors.New("nothing was changed, since there is no terminal at which to type the identity (give --identity with the exact identity, or --dry-run to look only)")}
	}
	if _, err := fmt.Fprintf(b.confirm.out, "%sOnly go on if it is dead with all its work. Type its identity: ", shown.text()); err != nil {
		return err
	}
	line, err := b.confirm.answer(ctx)
	switch typed := strings.TrimSpace(line); {
	case ctx.Err() != nil:
		return errDeclined
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("answer: %w", err)
	case typed != shown.Identity:
		return refused(fmt.Errorf("%q is not the identity %s; nothing was changed", typed, shown.Identity))
	}
	return nil
}

func (s sessionEnd) text() string {
	var t strings.Builder
	revision := ""
	if s.Revision != "" {
		revision = ", revision " + s.Revision
	}
	fmt.Fprintf(&t, "%s%s: session %s, last beat %d at %s by its own clock\n", s.Identity, revision, s.Session, s.Beat, s.Renewed.Format(time.RFC3339))
	if len(s.Frees) > 0 {
		fmt.Fprintf(&t, "others may lead at once: %s\n", strings.Join(s.Frees, ", "))
	}
	for _, k := range s.Keeps {
		fmt.Fprintf(&t, "not freed: %s, since %s\n", k.Election, k.Why)
	}
	switch {
	case s.Ended:
		t.WriteString("its session has ended\n")
	case s.DryRun:
		t.WriteString("its session is still there: --dry-run\n")
	}
	return t.String()
}
