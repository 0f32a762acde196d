package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// word is a command to a rollout, such as pause or abort.
type word struct {
	use, short, long string
	// moves says what happens to leadership, such as "2 elections go back to 1-9-0"; nil if nothing
	// moves.
	moves func(prospect) string
	// forbids says why the word must not be carried out while members see what they see; nil if nothing forbids it.
	forbids func(prospect) error
	// holds says whether the word still applies to the plan now, if the operator decided on the plan shown.
	holds func(shown, now rollout.Plan) bool
	// obey applies the word to the plan now, and returns the result.
	obey func(shown, now rollout.Plan) (rollout.Plan, error)
	// done is the message afterwards.
	done string
	// lasting: members keep the preference that the word gives them until somebody says another word. So the command can
	// compare what they publish, and name those that do not see the word.
	lasting bool
	// full replaces the word if --full is given; nil if there is no such flag.
	full *word
}

// rolloutWords are all words. Words that let a rollout go on apply only to the state that was shown.
// abort and pause must not fail because a controller wrote something meanwhile.
func rolloutWords() []word {
	full := word{
		use: "promote", holds: unchanged, obey: alike(rollout.Plan.PromoteFull), done: "goes on to its last step",
		moves: func(p prospect) string {
			return fmt.Sprintf("%d of %d elections will move to %s", p.toCome(), p.movable(), p.shown.Rollout.Canary)
		},
	}
	return []word{
		{
			use: "promote", short: "Go on to the next step without waiting",
			long: `Go on to the next step without waiting any longer: for the time of a pause or of an
analysis, or for elections that are on their way. With --full, skip to the last step.`,
			moves: passes, holds: unchanged, done: "goes on to the next step", full: &full,
			obey: func(shown, now rollout.Plan) (rollout.Plan, error) { return now.PromotePast(shown) },
		},
		{
			use: "pause", short: "Hold the rollout where it is",
			long: `Hold the rollout where it is. What has moved stays where it is, and elections on their way still
arrive; nothing more sets out until "resume" or "promote".`,
			holds: sameRollout, obey: alike(rollout.Plan.Pause), done: "is held where it is",
		},
		{
			use: "resume", short: "Go on after pause",
			long:  `Go on after "pause".`,
			moves: goesOn, holds: unchanged, obey: alike(rollout.Plan.Resume), done: "goes on",
		},
		{
			use: "abort", short: "Take every election back to the stable revision, at once",
			long: `Take every election back to the stable revision, at once. An abort is one field that each
member obeys by itself. It works without a live controller, and with an unreadable rollout
status. From then on the canary is blocked and elections prefer the stable revision, whatever
the default is, until "retry", "end" or another "start".`,
			moves: goBack, holds: sameRollout, obey: alike(rollout.Plan.Abort), done: "is aborted: every election goes back", lasting: true,
		},
		{
			use: "retry", short: "Begin anew after an abort or a rollback, or go on in spite of failures",
			long: `Begin the rollout anew at its first step, after it was aborted or rolled back, or where its
status cannot be read: what the canary leads goes back to the stable revision first. Where
failures paused it (Degraded), go on in spite of them.`,
			moves: beginsAnew, holds: unchanged, obey: alike(rollout.Plan.Retry), done: "is tried again",
		},
		{
			use: "end", short: "End what was aborted or rolled back: elections follow the default revision again",
			long: `End a rollout that was aborted or rolled back. Until then it stays in force: every election
prefers the stable revision, whatever the default revision is. Afterwards elections follow
the default revision again, and the canary is no longer blocked.

It refuses while a member sees the canary as the default revision, since every election
would move to the canary at once. Name another default first, with "primacy revision set".`,
			moves: followsAgain, forbids: wouldReturn, holds: unchanged, done: "is ended: elections follow the default revision", lasting: true,
			obey: alike(func(p rollout.Plan) (rollout.Plan, error) { return p.End(time.Now()) }),
		},
	}
}

func newRolloutWords() (all []*cobra.Command) {
	for _, w := range rolloutWords() {
		all = append(all, w.command())
	}
	return append(all, newRolloutUndo())
}

// alike makes obey for a word that does the same whatever plan was shown.
func alike(obey func(rollout.Plan) (rollout.Plan, error)) func(shown, now rollout.Plan) (rollout.Plan, error) {
	return func(_, now rollout.Plan) (rollout.Plan, error) { return obey(now) }
}

// sameRollout says whether both plans have the same rollout, whatever state it is in.
func sameRollout(shown, now rollout.Plan) bool {
	return shown.Rollout != nil && now.Rollout != nil && shown.Rollout.UID == now.Rollout.UID
}

// unchanged says whether the rollout is the same, in the same phase, and no operator has changed it.
func unchanged(shown, now rollout.Plan) bool {
	return sameRollout(shown, now) && shown.Rollout.Generation == now.Rollout.Generation && shown.Phase() == now.Phase()
}

// after is the change of the stored plan, for an operator who has agreed to its effect on the plan shown.
func (w word) after(shown rollout.Plan) func(rollout.Plan) (rollout.Plan, error) {
	return func(now rollout.Plan) (rollout.Plan, error) {
		if now.Rollout != nil && !w.holds(shown, now) {
			return now, changedMeanwhile(w.use, shown, now)
		}
		return w.obey(shown, now)
	}
}

// changedMeanwhile refuses a word because the rollout is not as it was when the operator looked.
func changedMeanwhile(word string, shown, now rollout.Plan) error {
	problem := fmt.Sprintf("the rollout has changed meanwhile: it is %s now", now.Phase())
	switch {
	case now.Rollout == nil:
		problem = "the rollout has ended meanwhile"
	case !sameRollout(shown, now):
		problem = fmt.Sprintf("another rollout has begun meanwhile: it is %s now", now.Phase())
	}
	return &rollout.Refused{Word: word, Problem: problem, Hint: "look again: primacy rollout status"}
}

// command is the word as a command.
func (w word) command() *cobra.Command {
	c := &cobra.Command{Use: w.use, Short: w.short, Long: w.long, Args: noArguments}
	addSettings(c.Flags(), groupSettings...)
	dry := addDryRun(c.Flags())
	confirm := new(confirmation)
	if w.moves != nil {
		confirm = newConfirmation(c.Flags())
	}
	all := false
	if w.full != nil {
		c.Flags().BoolVar(&all, "full", false, "skip to the last step")
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		said := w
		if all {
			said = *w.full
		}
		return runRollout(c, func(ctx context.Context, r *rolloutCommand) error {
			return r.obey(ctx, said, confirm, *dry)
		})
	}
	return c
}

// obey asks the operator, then carries out the word.
func (r *rolloutCommand) obey(ctx context.Context, w word, confirm *confirmation, dry dryRun) error {
	stored, err := r.load(ctx)
	if err != nil {
		return err
	}
	obey := w.after(stored.Plan)
	next, err := obey(stored.Plan)
	if err != nil {
		return explainBroken(err, stored.Mistakes)
	}
	for _, line := range view.Standing(stored.Plan) {
		fmt.Fprintf(r.notes, "note: %s\n", line)
	}
	looked := false
	if w.moves != nil {
		what := "leadership will move"
		p, err := r.ahead(ctx, w, stored.Plan, next)
		switch {
		case err == nil:
			looked = true
			what = w.moves(p)
			if !r.rulebook.configured {
				fmt.Fprintf(r.notes, "note: %s\n", unseen)
			}
			for _, note := range p.report.Notes {
				fmt.Fprintf(r.notes, "note: %s\n", note)
			}
		case w.forbids != nil:
			return err
		default: // only information for people: its lack must not prevent an abort
			fmt.Fprintf(r.notes, "who leads what is not known: %v\n", err)
		}
		if dry {
			return r.say("%s; nothing was changed (--dry-run)", what)
		}
		if err := confirm.of(ctx, what); err != nil {
			return err
		}
		if w.forbids != nil { // members may see something else by now
			if _, err := r.ahead(ctx, w, stored.Plan, next); err != nil {
				return err
			}
		}
	}
	name := fmt.Sprintf("the rollout of %s from %s to %s", r.group, stored.Plan.Rollout.Stable, stored.Plan.Rollout.Canary)
	if dry {
		return r.say("%s %s; nothing was changed (--dry-run)", name, w.done)
	}
	var after rollout.Plan
	if err := r.change(ctx, func(now rollout.Plan) (_ rollout.Plan, err error) {
		after, err = obey(now)
		return after, err
	}); err != nil {
		return err
	}
	if err := r.say("%s %s (primacy rollout status -w shows how)", name, w.done); err != nil {
		return err
	}
	if w.lasting && looked {
		r.heard(ctx, after)
	}
	return nil
}

// ahead looks at the members to which the word would apply. It is an error if they cannot be seen, or if what they see forbids the word.
func (r *rolloutCommand) ahead(ctx context.Context, w word, shown, next rollout.Plan) (prospect, error) {
	report, err := r.look(ctx)
	if err != nil {
		return prospect{}, err
	}
	p := prospect{shown, next, report, r.group, r.rulebook}
	if w.forbids != nil {
		err = w.forbids(p)
	}
	return p, err
}

// explainBroken adds mistakes in the stored plan to the reason why a word was refused.
func explainBroken(err, mistakes error) error {
	if mistakes == nil {
		return err
	}
	return fmt.Errorf("%w; what is stored: %s", err, oneLine(mistakes))
}

// oneLine makes an error printable in one line: it may quote stored text, which anybody can write.
func oneLine(err error) string {
	return view.Printable(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// prospect is the state to which a word applies, and the plan that results.
type prospect struct {
	shown, next rollout.Plan
	report      status.Report
	group       string
	rulebook    rulebook
}

// movable counts the elections that a rollout can move.
func (p prospect) movable() int { return len(p.rulebook.movable(p.report.Elections)) }

// toCome counts the elections that steps will bring to the canary.
func (p prospect) toCome() (n int) {
	canary := p.shown.Rollout.Canary
	for _, e := range seenOf(p.group, p.next, p.report, canary, p.rulebook).Elections {
		if e.Revision != canary && e.Canary != "" && !e.Pinned && e.Follows == rollout.ByRevision {
			n++
		}
	}
	return n
}

// goesOn says how many elections will still move to the canary.
func goesOn(p prospect) string {
	return fmt.Sprintf("the rollout goes on: %d of %d elections move to %s, step by step", p.toCome(), p.movable(), p.shown.Rollout.Canary)
}

// beginsAnew says what a retry moves. Until a controller begins the rollout anew, every election prefers the stable revision: also those
// that the canary leads, where nobody could read how far the rollout was.
func beginsAnew(p prospect) string {
	back := p.moving()
	if p.next.Phase() != rollout.Pending || back == 0 {
		return goesOn(p) + p.butStandsDown()
	}
	return fmt.Sprintf("%s; then the rollout begins anew: %d of %d elections move to %s, step by step%s", goBack(p), p.toCome()+back, p.movable(), p.shown.Rollout.Canary, p.butStandsDown())
}

// butStandsDown adds standingDown.
func (p prospect) butStandsDown() string {
	if warning := standingDown(p.report, p.group, p.shown.Rollout.Canary); warning != "" {
		return "; but " + warning
	}
	return ""
}

// standingDown warns of members of the canary that still stand down, for nothing that they lack: if their work failed, that counts in a
// rollout that begins now.
func standingDown(r status.Report, group, canary string) string {
	for _, m := range r.Members {
		if m.Group != group || m.State != status.Live || m.Revision != canary {
			continue
		}
		for _, name := range m.Standing {
			if m.Lacks[name] == "" {
				return fmt.Sprintf("%s is not in good standing for %s: if its work failed there, that counts as a failure again (restart it first, or wait until primacy status shows it in good standing)", m.Identity, name)
			}
		}
	}
	return ""
}

// passes says that the present step is passed.
func passes(p prospect) string {
	return fmt.Sprintf("step %d of %d is passed; %s", p.shown.Status.Step, len(p.shown.Rollout.Steps), goesOn(p))
}

// followsAgain says what moves once elections follow the default revision again.
func followsAgain(p prospect) string {
	byDefault := defaultSeen(p.report, p.group)
	return fmt.Sprintf("elections follow the default revision again, %s: %d of %d move", byDefault, p.moving(), p.movable())
}

// wouldReturn forbids to end a rollout while some member sees its canary as the default, or if no member lives that
// would show what the default is.
func wouldReturn(p prospect) error {
	stable, canary, lives := p.shown.Rollout.Stable, p.shown.Rollout.Canary, false
	for _, m := range p.report.Members {
		if m.Group != p.group || m.State != status.Live {
			continue
		}
		lives = true
		if defaultOf(m) == canary {
			return &rollout.Refused{
				Word: "end", Problem: fmt.Sprintf("%s sees %s as the default revision, so elections would move to %s at once", m.Identity, canary, canary),
				Hint: fmt.Sprintf("set another one first: primacy revision set %s; primacy rollout retry tries %s again", stable, canary),
			}
		}
	}
	if !lives {
		return &rollout.Refused{Word: "end", Problem: "no member lives that shows what the default revision is", Hint: "start one: primacy run"}
	}
	return nil
}

// moving counts the elections that move at once.
func (p prospect) moving() (n int) {
	for _, m := range p.movements() {
		if !m.Stays {
			n++
		}
	}
	return n
}

// movements are the elections whose preference changes at once.
func (p prospect) movements() []movement {
	byDefault := defaultSeen(p.report, p.group)
	return changes(p.report, p.group, preference{p.shown, byDefault}, preference{p.next, byDefault}, p.rulebook)
}

// goBack says what an abort moves.
func goBack(p prospect) string {
	text := fmt.Sprintf("%d of %d elections go back from %s to %s, at once", p.moving(), p.movable(), p.shown.Rollout.Canary, p.shown.Rollout.Stable)
	last := time.Time{}
	for _, m := range p.movements() {
		if !m.Stays && m.NotBefore.After(last) {
			last = m.NotBefore
		}
	}
	if !last.IsZero() {
		text += fmt.Sprintf(", the last of them not before %s, for its timing (primacy explain says more)", last.Format(time.RFC3339))
	}
	return text
}
