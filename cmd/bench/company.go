package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/cmd/bench/span"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// patience is how long we wait for anything to happen.
const patience = 5 * time.Minute

// company is a set of processes of one kind that take part in the same elections, in a namespace of
// their own.
type company struct {
	b               *bench
	kind, namespace string
	elections       int
	args            []string
	// members are the live processes. gone are the processes that have ended; the judge reads their records, too.
	members []*process
	gone    []departed
	joined  int
}

// departed is a process that had ended by the instant at.
type departed struct {
	p  *process
	at record.Instant
}

// newCompany makes the namespace, and starts nothing yet.
func (b *bench) newCompany(ctx context.Context, kind, namespace string, elections int, args ...string) (*company, error) {
	if err := b.cluster.makeNamespace(ctx, namespace); err != nil {
		return nil, err
	}
	return &company{b: b, kind: kind, namespace: namespace, elections: elections, args: args}, nil
}

// withWork gives the members runners, which record when they begin and end.
func (c *company) withWork() *company {
	c.args = append(c.args, "-spans", "SPANS")
	return c
}

// join starts one more member. It returns the member's state once the member has seen who
// leads each election; for the first member, once it leads all elections.
func (c *company) join(ctx context.Context, args ...string) (*process, state, error) {
	name := fmt.Sprintf("%s-%d", c.namespace, c.joined)
	c.joined++
	all := append([]string{"-namespace", c.namespace, "-elections", strconv.Itoa(c.elections)}, args...)
	for _, a := range c.args {
		if a == "SPANS" {
			a = c.b.dir + "/" + name + ".spans"
		}
		all = append(all, a)
	}
	p, err := c.b.launch(c.kind, name, all...)
	if err != nil {
		return nil, state{}, err
	}
	first := len(c.members) == 0
	c.members = append(c.members, p)
	is, err := p.until(ctx, patience, func(is state) bool {
		return is.Leads == c.elections || !first && is.Sees == c.elections
	})
	return p, is, err
}

// joinMany starts members one after the other.
func (c *company) joinMany(ctx context.Context, n int) error {
	for range n {
		if _, _, err := c.join(ctx); err != nil {
			return err
		}
	}
	return nil
}

// leader is the member that leads the most elections.
func (c *company) leader() (best *process, err error) {
	most := 0
	for _, p := range c.members {
		is, err := p.ask("state")
		if err != nil {
			return nil, err
		}
		if is.Leads > most {
			best, most = p, is.Leads
		}
	}
	if best == nil {
		return nil, fmt.Errorf("%s: nobody leads anything", c.namespace)
	}
	return best, nil
}

// end signals a member and removes it from members. The caller must call wait.
func (c *company) end(p *process, sig syscall.Signal) (wait func() error, err error) {
	if err := p.cmd.Process.Signal(sig); err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	rest := make([]*process, 0, len(c.members))
	for _, m := range c.members {
		if m != p {
			rest = append(rest, m)
		}
	}
	c.members = rest
	return func() error {
		err := p.wait()
		c.gone = append(c.gone, departed{p, c.b.clock.Now()})
		return err
	}, nil
}

// led waits until each election is led by one of the members.
func (c *company) led(ctx context.Context, among []*process, look time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		n := 0
		for _, p := range among {
			is, err := p.ask("state")
			if err != nil {
				return err
			}
			n += is.Leads
		}
		if n >= c.elections {
			return nil
		}
		if err := pause(ctx, look); err != nil {
			return fmt.Errorf("%s: %d of %d elections are led: %w", c.namespace, n, c.elections, err)
		}
	}
}

// close kills all members at once, so that none takes over from another.
func (c *company) close() error {
	var errs []error
	for _, p := range c.members {
		errs = append(errs, p.cmd.Process.Kill())
	}
	for _, p := range c.members {
		errs = append(errs, p.wait())
		c.gone = append(c.gone, departed{p, c.b.clock.Now()})
	}
	c.members = nil
	return errors.Join(errs...)
}

// spans are the records of all runners so far. The last span of a killed process lasts until
// the process was gone.
func (c *company) spans() (all []span.Span, err error) {
	now := c.b.clock.Now()
	for _, d := range c.gone {
		of, err := span.ReadNotes(d.p.spans, d.at)
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	for _, p := range c.members {
		of, err := span.ReadNotes(p.spans, now)
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	return all, nil
}

// begun waits until the records show that work has begun in each of the elections after since. It returns
// how long after since each began, and when. It must wait because a member says that it leads before its
// runner has recorded the beginning.
func (c *company) begun(ctx context.Context, since record.Instant, elections map[string]bool) (sample, map[string]record.Instant, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		spans, err := c.spans()
		if err != nil {
			return nil, nil, err
		}
		first := map[string]record.Instant{}
		for _, s := range spans {
			if s.Begin > since && elections[s.Election] && (first[s.Election] == 0 || s.Begin < first[s.Election]) {
				first[s.Election] = s.Begin
			}
		}
		if len(first) < len(elections) {
			if err := pause(ctx, lookOften); err != nil {
				return nil, nil, fmt.Errorf("%s: work began in %d of %d elections: %w", c.namespace, len(first), len(elections), err)
			}
			continue
		}
		var took sample
		for _, at := range first {
			took = append(took, at.Sub(since))
		}
		return took, first, nil
	}
}

// all are all elections of the company.
func (c *company) all() map[string]bool {
	names := map[string]bool{}
	for i := range c.elections {
		names[electionName(i)] = true
	}
	return names
}

// worksOn are the elections for which the process works.
func worksOn(p *process) (map[string]bool, error) {
	spans, err := span.ReadNotes(p.spans, 0)
	if err != nil {
		return nil, err
	}
	on := map[string]bool{}
	for _, s := range spans {
		if !s.Ended {
			on[s.Election] = true
		}
	}
	return on, nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
