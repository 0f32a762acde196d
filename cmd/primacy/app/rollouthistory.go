package app

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// pastRollout is one line of the history. The names of its fields are stable.
type pastRollout struct {
	UID     string        `json:"uid"`
	Stable  string        `json:"stable"`
	Canary  string        `json:"canary"`
	Started time.Time     `json:"started"`
	Ended   time.Time     `json:"ended,omitzero"`
	Phase   rollout.Phase `json:"phase"`
	By      string        `json:"by,omitempty"`
}

func newRolloutHistory() *cobra.Command {
	c := &cobra.Command{
		Use:   "history",
		Short: "List the rollouts of a group, the latest last",
		Long: `List the rollouts of a group, the latest last: the present one, if there is one, and up to
10 that others took the place of or that were ended, each with the phase in which it was left.
ENDED is when it was complete, rolled back or aborted.`,
		Args: noArguments,
	}
	addSettings(c.Flags(), groupSettings...)
	format := addOutput(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		return runRollout(c, func(ctx context.Context, r *rolloutCommand) error {
			stored, err := r.load(ctx)
			if err != nil {
				return err
			}
			past := rolloutsOf(stored.Plan)
			if len(past) == 0 && *format == outputText {
				return r.say("group %s has had no rollout", r.group)
			}
			return format.write(r.out, historyTable(past), past)
		})
	}
	return c
}

func rolloutsOf(p rollout.Plan) []pastRollout {
	past := []pastRollout{}
	for _, e := range p.History {
		past = append(past, pastRollout{e.UID, e.Stable, e.Canary, e.Started.Time, e.Ended.Time, e.How, view.Printable(e.By)})
	}
	if s := p.Rollout; s != nil {
		past = append(past, pastRollout{s.UID, s.Stable, s.Canary, s.StartedAt.Time, p.Ended().Time, p.Phase(), view.Printable(s.By)})
	}
	return past
}

func historyTable(past []pastRollout) string {
	rows := [][]string{{"STARTED", "ENDED", "STABLE", "CANARY", "PHASE", "BY"}}
	for _, p := range past {
		ended := "-"
		if !p.Ended.IsZero() {
			ended = p.Ended.UTC().Format(time.RFC3339)
		}
		by := p.By
		if by == "" {
			by = "-"
		}
		rows = append(rows, []string{p.Started.UTC().Format(time.RFC3339), ended, p.Stable, p.Canary, string(p.Phase), by})
	}
	return new(status.Aligner).Lines(rows)
}
