package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/cmd/bench/span"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions/controller"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// Rollouts of whole programs: one forth in steps, one back with a canary that fails half way,
// and one more that is aborted while its controller is killed.

const (
	// rolloutGroup is the group of the configuration.
	rolloutGroup = "bench"
	blue, green  = "blue", "green"
	// rolloutTime bounds the scenario.
	rolloutTime = 10 * time.Minute
	// lookPlan is how often we read the stored plan.
	lookPlan = 50 * time.Millisecond
)

func (b *bench) rollout(ctx context.Context) (err error) {
	if v := judge(planted()); v.overlapping() != time.Millisecond {
		return fmt.Errorf("the judge does not see a planted overlap of 1 ms: %+v", v)
	}
	ctx, cancel := context.WithTimeout(ctx, rolloutTime)
	defer cancel()
	fmt.Println("load before:", loadavg())
	if err := b.cluster.prefer(ctx, namespace, blue); err != nil {
		return err
	}
	b.failing = filepath.Join(b.dir, "failing")
	if b.config, err = b.configFile("primacy.yaml", rolloutGroup, "{kind: Lease}", electionNames(b.options.elections)); err != nil {
		return err
	}
	began := b.clock.Now()
	for _, revision := range []string{blue, green} {
		for i := range 2 {
			if _, err := b.join(fmt.Sprintf("%s-%d", revision, i), revision); err != nil {
				return err
			}
		}
	}
	if _, err := b.until(ctx, "the start", began, electionNames(b.options.elections)); err != nil {
		return err
	}
	if err := b.inGoodStanding(ctx, 4); err != nil {
		return err
	}
	if _, err := b.led(ctx, blue, electionNames(b.options.elections)); err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{b.forth, b.failHalfWay, b.abortKilled} {
		if err := part(ctx); err != nil {
			return errors.Join(err, errors.New(b.tails()))
		}
	}
	fmt.Println("load after:", loadavg())
	spans, err := span.Read(b.spans)
	if err != nil {
		return err
	}
	return printVerdict(judge(spans))
}

// forth moves all elections from blue to green: 10, 50, 100 %.
func (b *bench) forth(ctx context.Context) error {
	ranked, since, err := b.begin(ctx, blue, green)
	if err != nil {
		return err
	}
	began, done := since, 0
	for i, weight := range []int{10, 50, 100} {
		want := ranked[:(len(ranked)*weight+99)/100]
		if _, err := b.phase(ctx, 2*i+1, 2*i+2); err != nil {
			return err
		}
		if err := b.ledExactly(ctx, green, want); err != nil {
			return err
		}
		took, err := b.until(ctx, fmt.Sprintf("%d %%", weight), since, want[done:])
		if err != nil {
			return err
		}
		fmt.Printf("%3d %%: green works on exactly the %d elections that the plan names; moved now %s; %s after the word\n", weight,
			len(want), strings.Join(want[done:], " "), rounded(slices.Max(took)))
		done = len(want)
		if weight == 100 {
			break
		}
		since = b.clock.Now()
		if err := b.say(ctx, rollout.Plan.PromoteStep); err != nil {
			return err
		}
	}
	p, err := b.planned(ctx, "complete", func(p rollout.Plan) bool { return p.Phase() == rollout.Complete })
	if err != nil {
		return err
	}
	fmt.Printf("%s, %s after the start; the controller's own election moved last\n", p.Phase(), rounded(b.clock.Now().Sub(began)))
	return b.printWithoutLeader(began)
}

// failHalfWay begins a rollout back to blue, and lets the runners of the canary fail at 50 %.
func (b *bench) failHalfWay(ctx context.Context) error {
	ranked, _, err := b.begin(ctx, green, blue)
	if err != nil {
		return err
	}
	if err := b.toHalf(ctx, ranked); err != nil {
		return err
	}
	half := ranked[:(len(ranked)+1)/2]
	since := b.clock.Now()
	if err := os.WriteFile(b.failing, []byte(blue), 0o600); err != nil {
		return fmt.Errorf("failure: %w", err)
	}
	p, err := b.planned(ctx, "rolled back", func(p rollout.Plan) bool { return p.Phase() == rollout.RolledBack })
	if err != nil {
		return err
	}
	decided := b.clock.Now().Sub(since)
	took, err := b.until(ctx, "the rollback", since, half)
	if err != nil {
		return err
	}
	if _, err := b.led(ctx, green, ranked); err != nil {
		return err
	}
	fmt.Printf("runners of the canary fail at 50 %%: rolled back by itself after %s, all %d elections work at stable again %s after the first failure (median %s)\n   %s\n",
		rounded(decided), len(half), rounded(slices.Max(took)), rounded(took.at(0.5)), p.Status.Message)
	if err := os.Remove(b.failing); err != nil {
		return fmt.Errorf("failure: %w", err)
	}
	return nil
}

// abortKilled begins that rollout again, kills the controller at 50 %, and aborts the rollout at once.
func (b *bench) abortKilled(ctx context.Context) error {
	if err := b.inGoodStanding(ctx, 4); err != nil {
		return err
	}
	if err := b.say(ctx, rollout.Plan.Retry); err != nil {
		return err
	}
	p, err := b.planned(ctx, "retried", func(p rollout.Plan) bool { return p.Rollout != nil })
	if err != nil {
		return err
	}
	ranked := b.ranked(p.Rollout.UID)
	if err := b.toHalf(ctx, ranked); err != nil {
		return err
	}
	driver, err := b.driver(ctx)
	if err != nil {
		return err
	}
	its, err := b.ofMember(driver)
	if err != nil {
		return err
	}
	since := b.clock.Now()
	if err := driver.kill(ctx, withParent); err != nil {
		return err
	}
	if err := b.say(ctx, rollout.Plan.Abort); err != nil {
		return err
	}
	half := ranked[:(len(ranked)+1)/2]
	back, err := b.until(ctx, "the abort", since, half)
	if err != nil {
		return err
	}
	if _, err := b.led(ctx, green, half); err != nil {
		return err
	}
	fmt.Printf("aborted with the controller (%s) killed by SIGKILL at 50 %%: the canary's %d elections work at stable again after %s (median %s)\n",
		driver.name, len(half), rounded(slices.Max(back)), rounded(back.at(0.5)))
	others, err := b.until(ctx, "the controller's death", since, its)
	if err != nil {
		return err
	}
	if _, err := b.led(ctx, green, ranked); err != nil {
		return err
	}
	fmt.Printf("   the %d that the killed member worked on itself were taken over after %s\n", len(its), rounded(slices.Max(others)))
	return nil
}

// begin starts a rollout: 10, 50 and 100 % with pauses between.
func (b *bench) begin(ctx context.Context, stable, canary string) (ranked []string, since record.Instant, err error) {
	timing, err := b.timing()
	if err != nil {
		return nil, 0, err
	}
	var drawn [8]byte
	if _, err := rand.Read(drawn[:]); err != nil {
		return nil, 0, fmt.Errorf("uid: %w", err)
	}
	hold := rollout.Step{Pause: &rollout.Pause{}}
	spec := rollout.Spec{
		UID: hex.EncodeToString(drawn[:]), Stable: stable, Canary: canary, By: "bench",
		AcquireTimeout: rollout.LeaseDurationsToAcquire * timing.LeaseDuration,
		Steps:          []rollout.Step{{SetWeight: 10}, hold, {SetWeight: 50}, hold, {SetWeight: 100}},
	}
	since = b.clock.Now()
	err = b.say(ctx, func(p rollout.Plan) (rollout.Plan, error) { return p.Start(spec, time.Now()) })
	return b.ranked(spec.UID), since, err
}

func (b *bench) toHalf(ctx context.Context, ranked []string) error {
	if _, err := b.phase(ctx, 1, 2); err != nil {
		return err
	}
	if err := b.say(ctx, rollout.Plan.PromoteStep); err != nil {
		return err
	}
	if _, err := b.phase(ctx, 3, 4); err != nil {
		return err
	}
	return b.ledExactly(ctx, blue, ranked[:(len(ranked)+1)/2])
}

// ranked are the elections in the order in which the rollout of the given uid moves them.
func (b *bench) ranked(uid string) []string {
	names := electionNames(b.options.elections)
	slices.SortFunc(names, func(x, y string) int { return cmp.Compare(rollout.RankOf(uid, x), rollout.RankOf(uid, y)) })
	return names
}

// say changes the stored plan, as an operator does.
func (b *bench) say(ctx context.Context, word func(rollout.Plan) (rollout.Plan, error)) error {
	return steering.Edit(ctx, b.cluster.core.ConfigMaps(namespace), rolloutGroup, func(p *rollout.Plan) (err error) {
		*p, err = word(*p)
		return err
	})
}

// planned waits until ok is true for the stored plan.
func (b *bench) planned(ctx context.Context, what string, ok func(rollout.Plan) bool) (rollout.Plan, error) {
	for {
		s, err := steering.Load(ctx, b.cluster.core.ConfigMaps(namespace), rolloutGroup)
		switch {
		case err != nil:
			return s.Plan, err
		case ok(s.Plan):
			return s.Plan, nil
		}
		if err := pause(ctx, lookPlan); err != nil {
			return s.Plan, fmt.Errorf("the rollout is not %s: %w\nstatus %+v", what, err, s.Plan.Status)
		}
	}
}

// phase waits until the rollout pauses at the step then, after the step moves, or has moved everything.
func (b *bench) phase(ctx context.Context, moves, then int) (rollout.Plan, error) {
	return b.planned(ctx, fmt.Sprintf("beyond step %d", moves), func(p rollout.Plan) bool {
		s := p.Status
		return s.Of(p.Rollout) && (s.Step == then && s.Phase == rollout.Paused || s.Phase == rollout.Promoted || s.Phase == rollout.Complete)
	})
}

// ledExactly waits until members of the revision work on the elections want. It fails if they work on others,
// too.
func (b *bench) ledExactly(ctx context.Context, revision string, want []string) error {
	got, err := b.led(ctx, revision, want)
	if err != nil {
		return err
	}
	if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		return fmt.Errorf("%s works on %v, planned are %v", revision, got, want)
	}
	return nil
}

// led waits until members of the revision work on the elections want, and returns all elections on which
// they work.
func (b *bench) led(ctx context.Context, revision string, want []string) (got []string, err error) {
	want = slices.Sorted(slices.Values(want))
	for {
		got = nil
		for _, m := range b.members {
			if m.revision != revision {
				continue
			}
			its, err := b.ofMember(m)
			if err != nil {
				return nil, err
			}
			got = append(got, its...)
		}
		slices.Sort(got)
		missing := slices.DeleteFunc(slices.Clone(want), func(e string) bool { return slices.Contains(got, e) })
		if len(missing) == 0 {
			return got, nil
		}
		if err := pause(ctx, lookPlan); err != nil {
			return nil, fmt.Errorf("%s does not work on %v: %w", revision, missing, err)
		}
	}
}

// driver is the member that leads the controller's election.
func (b *bench) driver(ctx context.Context) (*member, error) {
	store, err := b.cluster.store(namespace)
	if err != nil {
		return nil, err
	}
	entry, err := store.Get(ctx, controller.ElectionName(rolloutGroup))
	if err != nil || entry.Absent() {
		return nil, fmt.Errorf("the controller's election: %w", cmp.Or(err, lock.ErrVanished))
	}
	for _, m := range b.members {
		if m.name == record.HostOf(entry.Record.Holder) {
			return m, nil
		}
	}
	return nil, fmt.Errorf("no member drives the rollout: %q does", entry.Record.Holder)
}

// inGoodStanding waits until the given number of members is ready and none of their runners failed lately.
func (b *bench) inGoodStanding(ctx context.Context, members int) error {
	store, err := b.cluster.store(namespace)
	if err != nil {
		return err
	}
	for {
		good := 0
		for _, m := range b.members {
			entry, err := store.Get(ctx, "primacy-"+rolloutGroup+"-"+m.name+"-0")
			if err != nil {
				return fmt.Errorf("session of %s: %w", m.name, err)
			}
			if !entry.Absent() && entry.Record.Member != nil && entry.Record.Member.Ready && len(entry.Record.Member.Standing) == 0 {
				good++
			}
		}
		if good == members {
			return nil
		}
		if err := pause(ctx, 10*lookPlan); err != nil {
			return fmt.Errorf("%d of %d members are in good standing: %w", good, members, err)
		}
	}
}

// printWithoutLeader prints each election's longest time without a worker after since.
func (b *bench) printWithoutLeader(since record.Instant) error {
	spans, err := span.Read(b.spans)
	if err != nil {
		return err
	}
	slices.SortFunc(spans, func(a, b span.Span) int {
		return cmp.Or(strings.Compare(a.Election, b.Election), cmp.Compare(a.Begin, b.Begin))
	})
	worst, moves := map[string]time.Duration{}, 0
	for i, s := range spans[1:] {
		if before := spans[i]; before.Election == s.Election && s.Begin > since {
			worst[s.Election] = max(worst[s.Election], s.Begin.Sub(before.Till))
			moves++
		}
	}
	var all sample
	var each []string
	for _, e := range electionNames(b.options.elections) {
		all = append(all, worst[e])
		each = append(each, e+" "+rounded(worst[e]))
	}
	fmt.Printf("%d moves of %d elections; longest without work: median %s, most %s\n   %s\n",
		moves, len(all), rounded(all.at(0.5)), rounded(slices.Max(all)), strings.Join(each, ", "))
	return nil
}

func rounded(d time.Duration) string { return d.Round(time.Millisecond).String() }
