package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

const (
	// lookOften and lookSeldom are how often we ask members whether they lead. Their answers
	// end a trial; the measured times come from the runners' records.
	lookOften  = 10 * time.Millisecond
	lookSeldom = 100 * time.Millisecond
)

// handover stops the member that leads most, and measures until the next runners
// start. Then a new member joins.
func (c *company) handover(ctx context.Context, look time.Duration) (took sample, err error) {
	p, err := c.leader()
	if err != nil {
		return nil, err
	}
	of, err := worksOn(p)
	if err != nil {
		return nil, err
	}
	since := c.b.clock.Now()
	wait, err := c.end(p, syscall.SIGTERM)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(c.led(ctx, c.members, look), wait()); err != nil {
		return nil, err
	}
	took, _, err = c.begun(ctx, since, of)
	return took, err
}

// handovers makes n handovers; the company has three members before and after each.
func (c *company) handovers(ctx context.Context, n int, look time.Duration) (all sample, err error) {
	if err := c.joinMany(ctx, 3); err != nil {
		return nil, err
	}
	for range n {
		took, err := c.handover(ctx, look)
		if err != nil {
			return nil, err
		}
		all = append(all, took...)
		if _, _, err := c.join(ctx); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// handoverPhase measures handovers: of one election at a time, then of many at once.
func (b *bench) handoverPhase(ctx context.Context, r *result, s size) error {
	if err := b.limits(ctx, r, s); err != nil {
		return err
	}
	for _, of := range []struct {
		namespace         string
		elections, trials int
		what              string
	}{
		{"handover-one", 1, s.handovers, "handover: SIGTERM -> next runner starts, 1 election"},
		{"handover-many", many, s.bursts, fmt.Sprintf("the same, %d elections at once", many)},
	} {
		if err := b.handoversOf(ctx, r, crowdMember, of.namespace, of.elections, of.trials, of.what); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) handoversOf(ctx context.Context, r *result, kind, namespace string, elections, trials int, what string) (err error) {
	c, err := b.newCompany(ctx, kind, namespace, elections)
	if err != nil {
		return err
	}
	who, look := primacy, lookOften
	if kind == electorMember {
		who, look = clientGo, lookSeldom
	}
	took, err := c.withWork().handovers(ctx, trials, look)
	if err := errors.Join(err, c.close()); err != nil {
		return err
	}
	r.Moves = append(r.Moves, move{Target: "P1", What: what, Who: who, Burst: kind == crowdMember && elections > 1, Took: took})
	if kind == crowdMember { // client-go's terms have no tokens
		_, err = r.judged(c)
	}
	return err
}

// electorHandovers measures client-go's handovers. Its electors do not wait for each other, so one
// handover of many elections counts as many trials.
func (b *bench) electorHandovers(ctx context.Context, r *result, s size) error {
	return b.handoversOf(ctx, r, electorMember, "electors-handover", many, s.electorRounds, "handover: SIGTERM -> next runner starts")
}

// switchPhase measures changes of the preferred revision, with one election and with many at once.
func (b *bench) switchPhase(ctx context.Context, r *result, s size) error {
	for _, of := range []struct {
		namespace         string
		elections, trials int
		what              string
	}{
		{"switch-one", 1, s.switches, "takeover: preference changes -> preferred member's runner starts, 1 election"},
		{"switch-many", many, 2 * s.bursts, fmt.Sprintf("the same, %d elections at once", many)},
	} {
		if err := b.switchesOf(ctx, r, of.namespace, of.elections, of.trials, of.what); err != nil {
			return err
		}
	}
	return b.limits(ctx, r, s)
}

func (b *bench) switchesOf(ctx context.Context, r *result, namespace string, elections, trials int, what string) (err error) {
	c, err := b.newCompany(ctx, crowdMember, namespace, elections, "-prefer", preferences)
	if err != nil {
		return err
	}
	if err := b.cluster.prefer(ctx, namespace, "stable"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	c.withWork()
	members := map[string][]*process{}
	for _, revision := range []string{"stable", "stable", "canary"} {
		p, _, err := c.join(ctx, "-revision", revision)
		if err != nil {
			return err
		}
		members[revision] = append(members[revision], p)
	}
	var all sample
	for i := range trials {
		to := []string{"canary", "stable"}[i%2]
		since := b.clock.Now()
		if err := b.cluster.prefer(ctx, namespace, to); err != nil {
			return err
		}
		if err := c.led(ctx, members[to], lookOften); err != nil {
			return err
		}
		took, _, err := c.begun(ctx, since, c.all())
		if err != nil {
			return err
		}
		all = append(all, took...)
	}
	r.Moves = append(r.Moves, move{Target: "P2", What: what, Who: primacy, Burst: elections > 1, Took: all})
	v, err := r.judged(c)
	r.P2.add(v)
	return err
}

// conflictPhase counts the conflicts of handovers with ten followers.
func (b *bench) conflictPhase(ctx context.Context, r *result, s size) error {
	for _, of := range []struct {
		who       contender
		kind      string
		namespace string
	}{{primacy, crowdMember, "followers"}, {clientGo, electorMember, "electors-followers"}} {
		found, err := b.conflictsOf(ctx, of.kind, of.namespace, s.conflictRounds)
		if err != nil {
			return err
		}
		found.Who = of.who
		r.Conflicts = append(r.Conflicts, found)
	}
	return nil
}

const followers = 10

func (b *bench) conflictsOf(ctx context.Context, kind, namespace string, rounds int) (found conflicts, err error) {
	found.Followers = followers
	c, err := b.newCompany(ctx, kind, namespace, many)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.withWork().joinMany(ctx, 1+followers); err != nil {
		return found, err
	}
	for range rounds {
		before, err := b.cluster.leaseRequests(ctx)
		if err != nil {
			return found, err
		}
		took, err := c.handover(ctx, lookSeldom)
		if err != nil {
			return found, err
		}
		after, err := b.cluster.leaseRequests(ctx)
		if err != nil {
			return found, err
		}
		found.Handovers += len(took)
		found.Conflicts += after.since(before).codes["409"]
		if _, _, err := c.join(ctx); err != nil {
			return found, err
		}
	}
	return found, nil
}

// timing is the members' timing.
func (b *bench) timing() (record.Timing, error) {
	t, err := record.Profile(b.options.profile)
	if err != nil {
		return t, fmt.Errorf("profile: %w", err)
	}
	return t, nil
}
