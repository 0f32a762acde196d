package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check/all"
	"github.com/primacy-dev/primacy/pkg/revisions/static"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

func newRolloutStatus() *cobra.Command {
	var watch, wait bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show how far the rollout is, and who leads what meanwhile",
		Long: `Show how far the rollout of a group is: its steps, the elections and where each is on its
way, what checks found, and the members.

With -w a terminal is kept up to date in place, until q or Ctrl-C; elsewhere each change
is a line, or with -o json or yaml a document.

With --wait it waits until the rollout is Promoted or Complete and members of the canary lead every
election that it moves, and shows it then. Elections that are pinned do not count.

Exit status: 0; 1 if the API cannot be read; 2 for a mistake in the command line; 3 if --wait
waited in vain; 4 if the rollout will not get there by itself: it is Degraded, RolledBack or
Aborted, or there is none.`,
		Args: noArguments,
	}
	addSettings(c.Flags(), groupSettings...)
	format := addOutput(c.Flags())
	c.Flags().BoolVarP(&watch, "watch", "w", false, "go on, and show what changes")
	c.Flags().BoolVar(&wait, "wait", false, "wait until every election is the canary's")
	timeout := patienceFlag(c.Flags(), 10*time.Minute)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := checkPatience(c.Flags(), *timeout); err != nil {
			return err
		}
		return runRollout(c, func(ctx context.Context, r *rolloutCommand) error {
			report, err := r.look(ctx)
			if err != nil {
				return err
			}
			if err := r.noteUnseen(report); err != nil {
				return err
			}
			if wait {
				return r.waitRollout(ctx, *format, *timeout)
			}
			if watch {
				return r.watchRollout(ctx, *format)
			}
			return r.showRollout(ctx, report, *format)
		})
	}
	return c
}

// showRollout writes the present state once.
func (r *rolloutCommand) showRollout(ctx context.Context, report status.Report, format output) error {
	stored, err := r.load(ctx)
	if err != nil {
		return err
	}
	v := r.view(stored.Plan, report)
	if stored.Mistakes != nil {
		v.Problems = append(v.Problems, oneLine(stored.Mistakes))
	}
	return writeRollout(r, v, format)
}

// waitRollout waits until the rollout has moved every election.
func (r *rolloutCommand) waitRollout(ctx context.Context, format output, timeout time.Duration) error {
	if _, err := r.load(ctx); err != nil { // fail at once without the permission to read
		return err
	}
	v, err := awaited(ctx, timeout, r.follow, func(v view.Rollout) (string, error) {
		if !v.AsOf.IsZero() {
			return view.Old(v.AsOf), nil
		}
		switch v.Phase {
		case rollout.Promoted, rollout.Complete:
			if n := len(v.Behind); n > 0 {
				return fmt.Sprintf("the rollout of %s to %s is %s, and its members do not lead %s yet: %s", r.group, v.Canary, v.Phase,
					counted(n, "election"), strings.Join(v.Behind[:min(n, 5)], ", ")), nil
			}
			return "", nil
		case rollout.Degraded, rollout.RolledBack, rollout.Aborted:
			return "", &exitError{exitNever, fmt.Errorf("the rollout of %s to %s is %s (primacy rollout status says why)", r.group, v.Canary, v.Phase)}
		}
		if v.Canary == "" {
			return "", &exitError{exitNever, fmt.Errorf("group %s has no rollout (primacy rollout start begins one)", r.group)}
		}
		return fmt.Sprintf("the rollout of %s to %s is %s", r.group, v.Canary, v.Phase), nil
	})
	if err != nil {
		return err
	}
	return writeRollout(r, v, format)
}

func (r *rolloutCommand) view(plan rollout.Plan, report status.Report) view.Rollout {
	return view.RolloutOf(r.group, plan, report, all.Registry().Names(), r.rulebook.stays)
}

func writeRollout(r *rolloutCommand, v view.Rollout, format output) error {
	var text strings.Builder
	if err := v.WriteText(&text); err != nil {
		return err
	}
	return format.write(r.out, text.String(), v)
}

// watchRollout shows the present state and then changes, until ctx ends. A terminal keeps
// showing the tree, and the last tree stays on it.
func (r *rolloutCommand) watchRollout(ctx context.Context, format output) error {
	if _, err := r.load(ctx); err != nil { // fail at once without the permission to read
		return err
	}
	if format != outputText || !isTerminal(r.out) {
		return inTurn(ctx, r.notes, r.follow, r.rolloutLines(format))
	}
	var news view.RolloutNews
	now := live[view.Rollout]{since: news.Since, page: func(v view.Rollout, log []string) view.Page {
		return v.Page(log, []string{view.Key("q", "quit")})
	}}
	if err := now.onScreen(ctx, r.out, "primacy rollout status", r.follow); err != nil || !now.seen {
		return err
	}
	return writeRollout(r, now.state, outputText)
}

// rolloutLines writes the first state, and then a line, or a document, for every change.
func (r *rolloutCommand) rolloutLines(format output) func(view.Rollout) error {
	var news view.RolloutNews
	begun := false
	return func(v view.Rollout) error {
		lines := news.Since(v)
		first := !begun
		begun = true
		switch {
		case !first && len(lines) == 0:
			return nil
		case format == outputJSON: // one line for each, for tools that read streams
			return json.NewEncoder(r.out).Encode(v)
		case format == outputYAML:
			if err := r.say("---"); err != nil {
				return err
			}
			return writeRollout(r, v, format)
		case first:
			return writeRollout(r, v, format)
		}
		for _, line := range lines {
			if err := r.say("%s %s", v.At.Local().Format(time.TimeOnly), line); err != nil {
				return err
			}
		}
		return nil
	}
}

// follow delivers the state at first, after every change and every second, until ctx ends. Whenever
// the watch of the locks breaks off, follow delivers the reason. It calls deliver on its own goroutine only.
func (r *rolloutCommand) follow(ctx context.Context, deliver func(view.Rollout, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	type look struct {
		report  status.Report
		trouble error
	}
	looks := make(chan look)
	ended := make(chan error, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		ended <- status.Follow(ctx, r.realm, r.selection, func(report status.Report, trouble error) {
			select {
			case looks <- look{report, trouble}:
			case <-ctx.Done():
			}
		})
	})
	// We need only the plan from the source, so its default may be empty.
	source := steering.New(r.core, r.namespace, r.group, static.Revision(""), clock.Boottime(), nil)
	wg.Go(func() { _ = source.Watch(ctx, func(election.Preference) {}) }) // Watch ends with ctx only
	var report *status.Report
	sight, changed := source.Sight()
	for {
		select {
		case l := <-looks:
			if l.trouble != nil {
				deliver(view.Rollout{}, l.trouble)
				continue
			}
			seen := r.present(l.report)
			report = &seen
		case <-changed:
			sight, changed = source.Sight()
		case err := <-ended:
			return err
		}
		if report != nil && sight.Plan != nil {
			deliver(r.view(*sight.Plan, *report), nil)
		}
	}
}
