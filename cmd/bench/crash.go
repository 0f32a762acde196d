package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// apart is the time between kills of members of different companies, so that their
// elections are not taken at the same moment.
const apart = 300 * time.Millisecond

// killed is a member that was killed, and the elections for which it worked.
type killed struct {
	since    record.Instant
	of       map[string]bool
	renewals *renewals
	wait     func() error
}

// kill kills the member that leads most. If we watch its renewals, taken counts elections where
// others work before the validity of the last renewal has ended.
func (c *company) kill(ctx context.Context) (*killed, error) {
	p, err := c.leader()
	if err != nil {
		return nil, err
	}
	k := &killed{}
	if k.of, err = worksOn(p); err != nil {
		return nil, err
	}
	if c.kind == crowdMember {
		if k.renewals, err = c.b.watchRenewals(ctx, c.namespace, slices.Collect(maps.Keys(k.of))); err != nil {
			return nil, err
		}
	}
	k.since = c.b.clock.Now()
	k.wait, err = c.end(p, syscall.SIGKILL)
	if err != nil && k.renewals != nil {
		err = errors.Join(err, k.renewals.stop())
	}
	return k, err
}

// taken waits until all elections of the killed member are led again. It returns how long each took, and
// how many elections were led too early: before the dead member's validity had ended.
func (c *company) taken(ctx context.Context, k *killed, validity time.Duration) (took sample, early int, err error) {
	err = c.led(ctx, c.members, lookSeldom)
	if k.renewals != nil {
		err = errors.Join(err, k.renewals.stop())
	}
	if err != nil {
		return nil, 0, err
	}
	took, at, err := c.begun(ctx, k.since, k.of)
	if err != nil {
		return nil, 0, err
	}
	if k.renewals != nil {
		for e, begun := range at {
			if begun < k.renewals.last[e].Add(validity) {
				early++
			}
		}
	}
	return took, early, nil
}

// crashPhase kills leading members of three kinds, side by side: Primacy's, whole programs that run
// a program, and client-go's.
func (b *bench) crashPhase(ctx context.Context, r *result, s size) (err error) {
	timing, err := b.timing()
	if err != nil {
		return err
	}
	ours, err := b.newCompany(ctx, crowdMember, "crash", many, "-profile", b.options.profile)
	if err != nil {
		return err
	}
	theirs, err := b.newCompany(ctx, electorMember, "electors-crash", many)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.close(), theirs.close()) }()
	if err := errors.Join(ours.withWork().joinMany(ctx, 3), theirs.withWork().joinMany(ctx, 3)); err != nil {
		return err
	}
	of := map[contender]sample{}
	for range s.kills {
		a, err := ours.kill(ctx)
		if err != nil {
			return err
		}
		if err := errors.Join(a.wait(), pause(ctx, apart)); err != nil {
			return err
		}
		whole, err := b.killProgram(ctx)
		if err != nil {
			return err
		}
		if err := pause(ctx, apart); err != nil {
			return err
		}
		theirKill, err := theirs.kill(ctx)
		if err != nil {
			return err
		}
		if err := theirKill.wait(); err != nil {
			return err
		}
		for _, take := range []struct {
			who contender
			by  func() (sample, int, error)
		}{
			{primacy, func() (sample, int, error) { return ours.taken(ctx, a, timing.Validity()) }},
			{program, func() (sample, int, error) { return whole(timing.Validity()) }},
			{clientGo, func() (sample, int, error) { return theirs.taken(ctx, theirKill, 0) }},
		} {
			took, early, err := take.by()
			if err != nil {
				return err
			}
			of[take.who] = append(of[take.who], took...)
			r.Early += early
		}
		for _, c := range []*company{ours, theirs} {
			if _, _, err := c.join(ctx); err != nil {
				return err
			}
		}
	}
	for _, m := range []struct {
		who  contender
		what string
	}{{primacy, fmt.Sprintf("crash: SIGKILL -> next runner starts, %d elections", many)}, {program, "the same, 1 election, the parent of the member killed too"}, {clientGo, "the same"}} {
		r.Moves = append(r.Moves, move{Target: "P4", What: m.what, Who: m.who, Took: of[m.who]})
	}
	_, err = r.judged(ours)
	if err != nil {
		return err
	}
	return b.judgeProgram(r)
}

// retakePhase kills the member that leads many elections.
func (b *bench) retakePhase(ctx context.Context, r *result, s size) (err error) {
	b.endMembers()
	timing, err := b.timing()
	if err != nil {
		return err
	}
	c, err := b.newCompany(ctx, crowdMember, "retake", s.retaken, "-profile", b.options.profile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.withWork().joinMany(ctx, 3); err != nil {
		return err
	}
	alone, err := b.cluster.throughput(ctx, s.raw) // meanwhile the members settle
	if err != nil {
		return err
	}
	if err := pause(ctx, settle); err != nil {
		return err
	}
	before, err := b.cluster.leaseRequests(ctx)
	if err != nil {
		return err
	}
	k, err := c.kill(ctx)
	if err != nil {
		return err
	}
	if err := k.wait(); err != nil {
		return err
	}
	took, early, err := c.taken(ctx, k, timing.Validity())
	if err != nil {
		return err
	}
	after, err := b.cluster.leaseRequests(ctx)
	if err != nil {
		return err
	}
	r.Early += early
	r.Moves = append(r.Moves, move{Target: "P4", What: fmt.Sprintf("the same, %d elections", s.retaken), Who: primacy, Took: took})
	r.Retake = retake{Elections: len(took), Took: took.at(1) - took.at(0), Codes: after.since(before).codes, Alone: alone}
	_, err = r.judged(c)
	return err
}
