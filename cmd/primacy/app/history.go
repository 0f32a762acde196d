package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// electionHistory is what is stored about the past of an election. The names of its fields are stable.
type electionHistory struct {
	Election string      `json:"election"`
	Group    string      `json:"group,omitempty"`
	Lock     status.Ref  `json:"lock"`
	Happened []pastEvent `json:"happened"`
	// Notes say what is missing.
	Notes []string `json:"notes,omitempty"`
}

func newHistory() *cobra.Command {
	c := &cobra.Command{
		Use:   "history ELECTION",
		Short: "List who led an election, when and why that changed",
		Long: `List the transitions of an election, the latest last: who took and who released its lock, and why;
how members that held it left or died; rollouts of that time, and the pin. It reads the API and nothing
else: the lock keeps the last 8 transitions, a session its end and the last 4 deaths in its place, the
group's ConfigMap the last 11 rollouts. Times are those of who wrote them, in whole seconds.

It needs list and watch on leases, and get on the group's ConfigMap; without the latter it shows no
rollouts and no pin, and says so.

Exit status: 0; 1 if the API or the election cannot be read; 2 for a mistake in the command line.`,
		Example: `  primacy history ingress-status
  primacy history ingress-status -o json`,
		Args: oneElection,
	}
	addSettings(c.Flags(), groupSettings...)
	format := addOutput(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		return inGroup(c, func(ctx context.Context, g groupCommand) error {
			h, err := g.history(ctx, args[0])
			if err != nil {
				return err
			}
			if *format == outputText {
				for _, note := range h.Notes {
					if _, err := fmt.Fprintf(g.notes, "note: %s\n", note); err != nil {
						return err
					}
				}
				if len(h.Happened) == 0 {
					_, err := fmt.Fprintf(g.notes, "nobody has led election %s yet\n", h.Election)
					return err
				}
			}
			return format.write(g.out, pastTable(h.Happened), h)
		})
	}
	return c
}

// history reads everything that is stored about the past of an election.
func (g *groupCommand) history(ctx context.Context, election string) (electionHistory, error) {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	report, err := status.Look(ctx, g.realm, g.selection)
	if err != nil {
		return electionHistory{}, g.failed(err)
	}
	e, err := electionNamed(report, election, g.namespace)
	if err != nil {
		return electionHistory{}, err
	}
	h := electionHistory{Election: e.Name, Group: e.Group, Lock: e.Ref(), Notes: report.Notes}
	stored, err := steering.Load(ctx, g.maps(), e.Group)
	if err != nil {
		h.Notes = append(h.Notes, "pins and rollouts are not known: "+oneLine(err))
	} else if stored.Mistakes != nil {
		h.Notes = append(h.Notes, "what is stored of pins and rollout cannot all be read: "+oneLine(stored.Mistakes))
	}
	h.Happened = pastOf(e, report, stored.Plan)
	return h, nil
}

// pastOf is the past of an election: its transitions, the ends of its holders, and what was asked for since the first
// of these.
func pastOf(e status.Election, r status.Report, plan rollout.Plan) []pastEvent {
	all := ofElection(e, r.Deaths)
	held := []string{e.Holder}
	for _, t := range e.History {
		held = append(held, t.Who)
	}
	for _, h := range ofMembers(r) {
		if h.Group == e.Group && slices.Contains(held, h.Who) && h.Who != "" {
			all = append(all, h)
		}
	}
	var first time.Time
	if len(e.History) > 0 {
		first = e.History[0].At
	}
	for _, h := range steered(plan, e.Name) {
		if !h.At.Before(first) {
			h.Group = e.Group
			all = append(all, h)
		}
	}
	return inOrder(all)
}

// steered are the rollouts of a plan, and the pin of an election.
func steered(p rollout.Plan, election string) (all []pastEvent) {
	add := func(at time.Time, what event, by, why string) {
		all = append(all, pastEvent{At: at.UTC().Truncate(time.Second), Event: what, Who: view.Printable(by), Why: view.Printable(why)})
	}
	for _, past := range rolloutsOf(p) {
		move := past.Stable + " -> " + past.Canary
		add(past.Started, eventRolloutBegan, past.By, move)
		if !past.Ended.IsZero() {
			add(past.Ended, eventRolloutEnded, "", fmt.Sprintf("%s: %s", move, past.Phase))
		}
	}
	if pin, ok := p.Pin(election); ok {
		to := "to revision " + pin.Revision
		if pin.Member != "" {
			to = "to member " + pin.Member
		}
		add(pin.At.Time, eventPinned, pin.By, to)
		all[len(all)-1].Election = election
	}
	return all
}
