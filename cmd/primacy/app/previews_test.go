package app

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/priority"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// crowded is the group of most previews: two members of red, then one of green.
func crowded(t *testing.T, canary int) *previewed {
	p := newPreviewed(t, "red")
	p.join("red-1", previewedDocument(100), "red")
	p.join("red-2", previewedDocument(100), "red")
	p.join("green-1", previewedDocument(canary), "green")
	return p
}

// weights are the weights of the canary to try.
func weights() []int {
	if os.Getenv("PREVIEWS") != "" {
		return []int{100, 50, 200}
	}
	return []int{200}
}

// compareStatus checks that the leader in the report is the only member that says that it leads. It also
// checks that each election has one row even without a configuration, however many locks it has.
func (p *previewed) compareStatus(y *tally, r status.Report) {
	p.t.Helper()
	blind, err := status.Look(p.t.Context(), p.command(nil).realm, status.Selection{Group: "edge"})
	if err != nil {
		p.t.Fatal(err)
	}
	y.row("(all)", "status without a configuration", strings.Join(names(r, nil), " "), strings.Join(names(blind, nil), " "))
	led := leaders(p.members...)
	for _, e := range r.Elections {
		if e.Name == "rollout-edge" {
			continue
		}
		host := hosts([]string{e.Holder})
		y.row(e.Name, "status", "led by "+host, "led by "+strings.Join(led[e.Name], " and "))
		kind := status.Lease
		if kindOf(e.Name) == "configmap" {
			kind = status.ConfigMap
		}
		both := 0
		if k := kindOf(e.Name); k == "migrated" || k == "renamed" {
			both = 1
		}
		if e.Kind != kind || len(e.Others) != both || both == 1 && e.Others[0].Holder != e.Holder {
			y.row(e.Name, "status", fmt.Sprintf("%s beside %v", e.Kind, e.Others), "another lock")
		}
	}
}

// steered runs a command, waits, and compares.
func (p *previewed) steered(y *tally, command string, say func(r status.Report) effect) {
	p.t.Helper()
	before, at := p.report(), time.Now()
	said := say(before)
	wait(45 * time.Second)
	now := p.report()
	y.moves(command, at, before, now, fates(said.Elections))
	p.compareStatus(y, now)
}

func setRevision(p *previewed, revision string) func(status.Report) effect {
	return func(status.Report) effect {
		return p.steer(func(ctx context.Context, s *steerCommand) error { return s.setRevision(ctx, revision) })
	}
}

// TestPreviewsEqualWhatHappens checks that members do, and status shows, what commands announced, for each
// kind of election with each policy.
func TestPreviewsEqualWhatHappens(t *testing.T) {
	y := &tally{t: t}
	for _, canary := range weights() {
		synctest.Test(t, func(t *testing.T) {
			p := crowded(t, canary)
			pin := func(pin rollout.Pin) func(status.Report) effect {
				return func(r status.Report) effect { return p.pin(pin, names(r, nil)...) }
			}
			with := fmt.Sprintf(", canary's weight %d", canary)
			p.steered(y, "revision set green"+with, setRevision(p, "green"))
			p.steered(y, "revision set red"+with, setRevision(p, "red"))
			p.steered(y, "pin --revision green"+with, pin(rollout.Pin{Revision: "green"}))
			p.steered(y, "unpin"+with, pin(rollout.Pin{}))
			p.steered(y, "pin --member red-2"+with, pin(rollout.Pin{Member: "red-2"}))
			p.steered(y, "unpin"+with, pin(rollout.Pin{}))
			p.end(p.members...)
		})
	}
	y.close()
}

// TestRolloutPreviewsEqualWhatHappens checks that elections move as the commands of rollouts announced,
// step by step.
func TestRolloutPreviewsEqualWhatHappens(t *testing.T) {
	if underRace {
		t.Skip("make test-long runs it without the race detector; TestPreviewsEqualWhatHappens and TestScripts/rollout run its code with it")
	}
	y := &tally{t: t}
	for _, canary := range weights() {
		synctest.Test(t, func(t *testing.T) {
			p := crowded(t, canary)
			p.rollouts(y, fmt.Sprintf(", canary's weight %d", canary))
			p.end(p.members...)
		})
	}
	y.close()
}

func (p *previewed) rollouts(y *tally, with string) {
	before := p.report()
	p.pin(rollout.Pin{Revision: "red"}, names(before, func(e status.Election) bool { return kindOf(e.Name) == "pinned" })...)
	wait(45 * time.Second)
	spec := rollout.Spec{Stable: "red", Canary: "green", Steps: []rollout.Step{
		{Elections: []string{"session.preferred", "delayed.preferred"}}, {Pause: &rollout.Pause{}}, {SetWeight: 50}, {Pause: &rollout.Pause{}}, {SetWeight: 100},
	}}
	p.started(y, "rollout start"+with, spec, 5)
	back, err := undoing(p.plan())
	if err != nil {
		p.t.Fatal(err)
	}
	p.started(y, "rollout undo"+with, back, 1)
	p.steered(y, "revision set green"+with, setRevision(p, "green"))
	p.started(y, "rollout start from the canary"+with, spec, 4)
	p.counted(y, "rollout abort"+with, "abort", func() { wait(12 * time.Second) })
	p.counted(y, "rollout retry"+with, "retry", func() {
		p.until(rollout.Paused, 2)
		p.counted(y, "rollout promote --full"+with, "promote --full", func() { p.until(rollout.Complete, 5) })
	})
	p.compareStatus(y, p.report())
}

// started begins a rollout, lets it go on up to a step, and compares each step with its announcement.
func (p *previewed) started(y *tally, command string, spec rollout.Spec, last int) {
	p.t.Helper()
	first := p.report()
	said := p.begin(spec)
	to := map[string][]string{}
	for _, m := range said.AtOnce {
		if !m.Stays {
			to[m.Election] = m.Candidates
		}
	}
	type promise struct {
		command, told string
		before        status.Report
	}
	var promises []promise
	for i, s := range said.Steps[:last] {
		for _, m := range s.Moves {
			if m.To != "" {
				to[m.Election] = append([]string{m.To}, m.Or...)
			}
		}
		switch {
		case spec.Steps[i].Pause != nil:
			p.until(rollout.Paused, i+1)
		case i < len(said.Steps)-1:
			continue
		default:
			p.until(rollout.Complete, i+1)
		}
		wait(45 * time.Second) // timings delay some of the elections that move
		now := p.report()
		for n, e := range now.Elections {
			want := to[e.Name]
			if want == nil {
				want = []string{first.Elections[n].Holder}
			}
			led := "led by " + hosts(want)
			if !slices.Contains(want, e.Holder) {
				led = "led by " + hosts([]string{e.Holder})
			}
			y.row(e.Name, fmt.Sprintf("%s, step %d", command, i+1), "led by "+hosts(want), led)
		}
		if i+1 < last {
			promises = append(promises, promise{fmt.Sprintf("%s, promote at step %d", command, i+1), p.word("promote"), now})
		}
	}
	for _, m := range promises {
		if last == len(spec.Steps) {
			p.count(y, m.command, m.told, m.before)
		}
	}
}

// counted runs a word such as pause, and compares the number of elections that move with the announced one.
func (p *previewed) counted(y *tally, command, use string, pass func()) {
	p.t.Helper()
	before := p.report()
	told := p.word(use)
	pass()
	p.count(y, command, told, before)
}

// count compares the number of elections that have moved since the report before with the announced one.
func (p *previewed) count(y *tally, command, told string, before status.Report) {
	p.t.Helper()
	moved := 0
	for i, e := range p.report().Elections {
		if e.Holder != before.Elections[i].Holder {
			moved++
		}
	}
	said, _, _ := strings.Cut(told[strings.LastIndex(told, ": ")+1:], " of ")
	y.row("(all)", command, strings.TrimSpace(said)+" move", strconv.Itoa(moved)+" move")
}

// TestPlantedDifferencesAreSeen checks that the tally reports differences: here commands get a
// configuration with other policies, other kinds, or another member.
func TestPlantedDifferencesAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := crowded(t, 200)
		for name, lie := range map[string]func(*rules){
			"policy":  func(r *rules) { r.policy = priority.None{} },
			"minHold": func(r *rules) { r.timing.MinHold, r.timing.PreemptDelay = 0, 0 },
			"scope":   func(r *rules) { r.onlyRevision = "" },
		} {
			y := &tally{t: t}
			p.steered(y, "revision set green", func(r status.Report) effect {
				wrong := rulebook{configured: true, of: map[string]rules{}}
				for _, e := range r.Elections {
					x := p.command(nil).rulebook.rules(e.Name)
					lie(&x)
					wrong.of[e.Name] = x
				}
				return p.steer(func(ctx context.Context, s *steerCommand) error {
					s.rulebook = wrong
					return s.setRevision(ctx, "green")
				})
			})
			p.steered(&tally{t: t}, "revision set red", setRevision(p, "red"))
			if len(y.differences) == 0 {
				t.Errorf("%s: a preview that ignores it was taken for true", name)
			}
		}
		p.end(p.members...)
	})
}
