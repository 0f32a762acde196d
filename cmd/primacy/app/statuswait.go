package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/priority"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/strict"
)

// goal is what `primacy status --wait` waits for.
type goal string

const (
	goalLed  goal = "led"
	goalFree goal = "free"
	// goalRevision is the beginning of goals such as revision=1-10-0.
	goalRevision = "revision="
)

var goals = []string{string(goalLed), string(goalFree), goalRevision + "REVISION"}

func parseGoal(text string) (goal, error) {
	if revision, ok := strings.CutPrefix(text, goalRevision); ok {
		return goal(text), revisions.Check(revision)
	}
	if text == string(goalLed) || text == string(goalFree) {
		return goal(text), nil
	}
	hint := ""
	if near := strict.Nearest(text, goals); near != "" {
		hint = fmt.Sprintf(" (did you mean %s?)", near)
	}
	return "", fmt.Errorf("want %s, got %q%s", strings.Join(goals, " or "), text, hint)
}

// unmet says why an election has not reached the goal; empty if it has.
func (g goal) unmet(e status.Election) string {
	leads := view.Led(e)
	revision, byRevision := strings.CutPrefix(string(g), goalRevision)
	switch {
	case g == goalFree && (e.Holder == "" || e.State == status.Released):
	case g == goalFree && e.Stale:
		return e.Name + " has a holder that does not renew, but may still be at work"
	case e.AlsoOf != "":
		return e.Name + ": a member of group " + e.Group + " holds the lock"
	case g == goalFree:
		return fmt.Sprintf("%s is %s, by %s", e.Name, e.State, e.Holder)
	case !leads && e.Stale:
		return e.Name + " has a holder that does not renew"
	case !leads:
		return fmt.Sprintf("%s is %s", e.Name, e.State)
	case byRevision && e.Revision != revision:
		return fmt.Sprintf("%s is led by %s of revision %s", e.Name, e.Holder, e.Revision)
	}
	return ""
}

// patienceFlag is how long --wait waits. It does nothing without --wait.
func patienceFlag(flags *pflag.FlagSet, otherwise time.Duration) *time.Duration {
	return flags.Duration("timeout", otherwise, "how long --wait waits")
}

// checkPatience refuses flags that have no meaning together.
func checkPatience(flags *pflag.FlagSet, timeout time.Duration) error {
	switch waits := flags.Changed("wait"); {
	case !waits && flags.Changed("timeout"):
		return &usageError{errors.New("--timeout: there is nothing to wait for (give --wait, too)")}
	case waits && flags.Changed("watch"):
		return &usageError{errors.New("--wait ends and --watch does not (give one of the two)")}
	case timeout <= 0:
		return &usageError{fmt.Errorf("--timeout %v (it must be more than 0)", timeout)}
	}
	return nil
}

// awaited follows a state until unmet is empty, and returns that state. unmet says what is still missing; an
// exitError of its own ends the wait at once. After the timeout the error says what was missing last.
func awaited[T any](ctx context.Context, timeout time.Duration, follow follows[T], unmet func(T) (string, error)) (state T, err error) {
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	missing, reached := "the API server has not answered yet", false
	var never error
	err = follow(within, func(now T, trouble error) {
		switch {
		case reached || never != nil:
		case trouble != nil:
			missing = watchCut(trouble)
		default:
			state = now
			if missing, never = unmet(now); missing == "" || never != nil {
				reached = never == nil
				cancel()
			}
		}
	})
	switch {
	case reached:
		return state, nil
	case never != nil:
		return state, never
	case err != nil:
		return state, err
	case ctx.Err() != nil:
		return state, fmt.Errorf("stopped while waiting: %s", missing)
	}
	return state, &exitError{exitTimeout, fmt.Errorf("waited %v in vain: %s", timeout, missing)}
}

// wait waits until the elections have reached the goal, and shows them.
func (s *statusCommand) wait(ctx context.Context, c clock.Clock, g goal, timeout time.Duration) error {
	report, err := awaited(ctx, timeout, s.follow, s.awaiting(c, g).missing)
	if err != nil {
		return err
	}
	reading, cancel := context.WithTimeout(ctx, steeredPatience)
	defer cancel()
	s.steered(reading, report).tell(&report)
	return report.Write(s.out, s.format)
}

// awaiting is one wait for a goal.
type awaiting struct {
	*statusCommand
	clock clock.Clock
	goal  goal
	// renewals are the latest renewals that the wait has seen, by lock.
	renewals map[status.Ref]renewal
}

// renewal is a renewal by a holder, and when we first saw it.
type renewal struct {
	holder string
	token  uint64
	// renewed is by the holder's clock.
	renewed time.Time
	seen    record.Instant
}

func (s *statusCommand) awaiting(c clock.Clock, g goal) *awaiting {
	return &awaiting{s, c, g, map[status.Ref]renewal{}}
}

// missing says which elections have not reached the goal; empty if all have.
func (a *awaiting) missing(r status.Report) (string, error) {
	if !r.AsOf.IsZero() {
		clear(a.renewals) // what we did not see may have been renewed
		return view.Old(r.AsOf), nil
	}
	var missing []string
	for _, name := range a.absent(r) {
		missing = append(missing, "there is no election "+name)
	}
	for _, e := range r.Elections {
		if _, byRevision := strings.CutPrefix(string(a.goal), goalRevision); byRevision && !priority.FollowsRevision(a.rulebook.rules(e.Name).policy) &&
			!slices.Contains(a.selection.Elections, e.Name) {
			continue // no revision moves it
		}
		silent := a.silent(e)
		if a.goal == goalFree && e.Stale && silent >= e.Lasts() {
			continue
		}
		if why := a.goal.unmet(e); why != "" {
			if a.rulebook.without(e.Name) {
				why += " (the configuration has no such election: " + leftHint + ")"
			}
			missing = append(missing, why)
		}
	}
	if len(r.Elections) == 0 && missing == nil {
		missing = []string{"there is no election"}
	}
	return strings.Join(missing, "; "), nil
}

// silent returns for how long this wait has seen nobody renew the election's lock. Whether a holder looks expired depends on its clock
// and on this machine's; this does not.
func (a *awaiting) silent(e status.Election) time.Duration {
	now := renewal{e.Holder, e.Token, e.Renewed, a.clock.Now()}
	last, known := a.renewals[e.Ref()]
	if !known || last.holder != now.holder || last.token != now.token || !last.renewed.Equal(now.renewed) {
		last = now
		a.renewals[e.Ref()] = now
	}
	return now.seen.Sub(last.seen)
}

// absent are the named elections that a report lacks.
func (s *statusCommand) absent(r status.Report) []string {
	return slices.DeleteFunc(slices.Clone(s.selection.Elections), func(name string) bool {
		return slices.ContainsFunc(r.Elections, func(e status.Election) bool { return e.Name == name })
	})
}
