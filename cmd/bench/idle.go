package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// settle is how long we leave a company alone before we measure it.
const settle = 2 * time.Second

// requestsIn measures, over a window, the requests for Leases per second.
func (b *bench) requestsIn(ctx context.Context, window time.Duration) (float64, error) {
	before, err := b.cluster.leaseRequests(ctx)
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, window); err != nil {
		return 0, err
	}
	after, err := b.cluster.leaseRequests(ctx)
	if err != nil {
		return 0, err
	}
	return after.rate(before), nil
}

// idle measures, over a window, what the members use and which requests they send.
func (c *company) idle(ctx context.Context, who contender, base float64, window time.Duration) (found idle, err error) {
	found = idle{Who: who, Elections: c.elections, Members: len(c.members)}
	if err := pause(ctx, settle); err != nil {
		return found, err
	}
	before := make([]state, len(c.members))
	for i, p := range c.members {
		if before[i], err = p.ask("collect"); err != nil { // so that all begin without garbage
			return found, err
		}
	}
	for i, p := range c.members { // only now, since the collections have cost CPU
		if before[i], err = p.ask("state"); err != nil {
			return found, err
		}
	}
	if found.Requests, err = c.b.requestsIn(ctx, window); err != nil {
		return found, err
	}
	found.Requests = max(0, found.Requests-base)
	for i, p := range c.members {
		is, err := p.ask("state")
		if err != nil {
			return found, err
		}
		found.CPU = append(found.CPU, 100*(is.CPU-before[i].CPU).Seconds()/is.Now.Sub(before[i].Now).Seconds())
		found.Goroutines = append(found.Goroutines, is.Goroutines)
	}
	for _, p := range c.members {
		is, err := p.ask("collect")
		if err != nil {
			return found, err
		}
		rss, err := p.rss()
		if err != nil {
			return found, err
		}
		found.Heap, found.RSS = append(found.Heap, is.Heap), append(found.RSS, rss)
	}
	return found, nil
}

// crowdPhase lets one member win all elections while others follow, with few elections and with many.
func (b *bench) crowdPhase(ctx context.Context, r *result, s size) error {
	b.endMembers()
	if _, err := b.crowd(ctx, r, s, primacy, crowdMember, "crowd", 1, []int{1}); err != nil {
		return err
	}
	for _, n := range s.crowds {
		members := []int{3}
		if n == s.grown {
			members = s.members
		}
		var alone alone
		if n == slices.Max(s.crowds) {
			var err error
			if alone, err = b.cluster.throughput(ctx, s.raw); err != nil {
				return err
			}
		}
		before, err := b.cluster.leaseRequests(ctx)
		if err != nil {
			return err
		}
		if r.Cold, err = b.crowd(ctx, r, s, primacy, crowdMember, "crowd", n, members); err != nil {
			return err
		}
		r.Cold.Alone = alone
		for code, n := range before.codes {
			r.Cold.Codes[code] -= n
		}
	}
	return nil
}

// recordPhase does the same as crowdPhase, with renewal by record: members renew each lock by itself.
func (b *bench) recordPhase(ctx context.Context, r *result, s size) error {
	for _, n := range s.records {
		if _, err := b.crowd(ctx, r, s, byRecord, crowdMember, "records", n, []int{3}, "-renewal", "record"); err != nil {
			return err
		}
	}
	return nil
}

// electorPhase does the same as crowdPhase with client-go's electors.
func (b *bench) electorPhase(ctx context.Context, r *result, s size) error {
	for _, n := range s.electors {
		members := []int{3}
		if n == s.grownElectors {
			members = s.electorMembers
		}
		if _, err := b.crowd(ctx, r, s, clientGo, electorMember, "electors", n, members); err != nil {
			return err
		}
	}
	return nil
}

// crowd makes a company, lets it grow to each number in members, and measures it each time. It returns how
// the first member won the elections, and all requests that the server answered until then.
func (b *bench) crowd(ctx context.Context, r *result, s size, who contender, kind, name string, n int, members []int, args ...string) (won cold, err error) {
	c, err := b.newCompany(ctx, kind, fmt.Sprintf("%s-%d", name, n), n, args...)
	if err != nil {
		return won, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	p, is, err := c.join(ctx)
	if err != nil {
		return won, err
	}
	won.Elections, won.Took = n, is.Now.Sub(p.started)
	after, err := b.cluster.leaseRequests(ctx)
	if err != nil {
		return won, err
	}
	won.Codes = after.codes
	for _, m := range slices.Sorted(slices.Values(members)) {
		if err := c.joinMany(ctx, m-len(c.members)); err != nil {
			return won, err
		}
		found, err := c.idle(ctx, who, r.Base, s.window)
		if err != nil {
			return won, err
		}
		r.Idle = append(r.Idle, found)
	}
	return won, nil
}
