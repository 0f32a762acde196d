package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/cmd/bench/death"
	"github.com/primacy-dev/primacy/cmd/bench/span"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// waysPhase lets members with a parent die in all ways but SIGKILL, which deathPhase measures.
func (b *bench) waysPhase(ctx context.Context, r *result, s size) error {
	for _, way := range ways() {
		if way == death.Killed {
			continue
		}
		took, err := b.deathsBy(ctx, r, way, s.deathsEach)
		if err != nil {
			return fmt.Errorf("%s: %w", way, err)
		}
		r.Moves = append(r.Moves, move{Target: "P12", What: "the same, by " + string(way), Who: program, Took: took})
	}
	return nil
}

// deathsBy lets members die n times.
func (b *bench) deathsBy(ctx context.Context, r *result, way death.Way, n int) (all sample, err error) {
	name := "proved-" + slug(way)
	m, err := b.mortals(name, way, guarded, 1, func(int) []string { return []string{b.stopwatch(name), function("bench.mortal")} })
	if err != nil {
		return nil, err
	}
	defer m.endMembers()
	if err := m.joinAll(ctx, 3); err != nil {
		return nil, err
	}
	for range n {
		took, err := m.leaderDies(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, took...)
		// Deaths of several holders in a row make the others wait.
		if _, err := m.handovers(ctx, 1); err != nil {
			return nil, err
		}
	}
	return all, r.judgedAll(m)
}

// leaderDies lets the leading member die and come back. It returns the times from its death to the next runners.
func (m *mortals) leaderDies(ctx context.Context) (sample, error) {
	of, elections, err := m.leader(ctx)
	if err != nil {
		return nil, err
	}
	since, err := m.die(ctx, of)
	if err != nil {
		return nil, err
	}
	took, err := m.until(ctx, "the death of "+of.name, since, elections)
	if err != nil {
		return nil, err
	}
	if err := m.buried(ctx, of); err != nil {
		return nil, err
	}
	return took, m.comeBack(ctx, of)
}

// slug is the way as a part of a name.
func slug(w death.Way) string {
	name := []byte{}
	for _, c := range []byte(w) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			name = append(name, c|' ')
		}
	}
	return string(name)
}

// judgedAll judges the records of a group, and adds the verdict to r.All.
func (r *result) judgedAll(m *mortals) error {
	spans, err := m.spansOfAll()
	if err != nil {
		return err
	}
	r.found(judge(spans))
	return nil
}

// found adds a verdict to r.All.
func (r *result) found(v verdict) {
	r.All.add(v)
	for _, o := range v.overlaps {
		fmt.Fprintln(os.Stderr, "bench:", o)
	}
	for _, f := range v.falling {
		fmt.Fprintln(os.Stderr, "bench:", f)
	}
}

// waitsPhase lets members without a parent die, in all ways at once: nobody can prove these deaths, so each costs a lease.
func (b *bench) waitsPhase(ctx context.Context, r *result, s size) error {
	type outcome struct {
		way  death.Way
		who  contender
		took sample
		err  error
	}
	var all []*outcome
	var wg sync.WaitGroup
	var mu sync.Mutex // guards r
	for _, way := range ways() {
		ours, theirs := &outcome{way: way, who: parentless}, &outcome{way: way, who: clientGo}
		all = append(all, ours)
		wg.Go(func() { ours.took, ours.err = b.unprovedBy(ctx, r, &mu, way, s) })
		if way == death.Stuck { // an elector does not end its process
			continue
		}
		all = append(all, theirs)
		wg.Go(func() { theirs.took, theirs.err = b.electorsDie(ctx, way, s) })
	}
	wg.Wait()
	var errs []error
	for _, o := range all {
		if o.err != nil {
			errs = append(errs, fmt.Errorf("%s, %s: %w", o.who, o.way, o.err))
			continue
		}
		r.Moves = append(r.Moves, move{Target: "P12", What: "the same, by " + string(o.way), Who: o.who, Took: o.took})
	}
	return errors.Join(errs...)
}

func (b *bench) unprovedBy(ctx context.Context, r *result, mu *sync.Mutex, way death.Way, s size) (all sample, err error) {
	name := "unproved-" + slug(way)
	m, err := b.mortals(name, way, unguarded, s.waiting, func(int) []string { return []string{b.stopwatch(name), function("bench.mortal")} })
	if err != nil {
		return nil, err
	}
	defer m.endMembers()
	if err := m.joinAll(ctx, 2); err != nil {
		return nil, err
	}
	for range s.waits {
		took, err := m.leaderDies(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, took...)
	}
	mu.Lock()
	defer mu.Unlock()
	return all, r.judgedAll(m)
}

// electorsDie lets processes of client-go's electors die.
func (b *bench) electorsDie(ctx context.Context, way death.Way, s size) (all sample, err error) {
	c, err := b.newCompany(ctx, electorMember, "electors-"+slug(way), s.waiting, "-dies", string(way))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.withWork().joinMany(ctx, 2); err != nil {
		return nil, err
	}
	for range s.waits {
		p, err := c.leader()
		if err != nil {
			return nil, err
		}
		of, err := worksOn(p)
		if err != nil {
			return nil, err
		}
		sign := death.Sign
		switch way {
		case death.Killed:
			sign = syscall.SIGKILL
		case death.Memory:
			free, err := starve(p.cmd.Process.Pid)
			if err != nil {
				return nil, err
			}
			defer free()
		}
		since := b.clock.Now()
		wait, err := c.end(p, sign)
		if err != nil {
			return nil, err
		}
		if err := wait(); err != nil {
			return nil, err
		}
		if way == death.Memory {
			since = b.clock.Now()
		}
		took, _, err := c.begun(ctx, since, of)
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

// provedPhase kills the member that leads many elections, and leaves its parent alive. Each time there is a new group.
func (b *bench) provedPhase(ctx context.Context, r *result, s size) error {
	r.Proved.Elections = s.proved
	for n := range s.provedRounds {
		alone, err := b.cluster.throughput(ctx, s.proved)
		if err != nil {
			return err
		}
		took, err := b.manyLedAgain(ctx, r, fmt.Sprintf("many-%d", n), s.proved)
		if err != nil {
			return err
		}
		r.Proved.Took, r.Proved.Alone = append(r.Proved.Took, took.at(1)), append(r.Proved.Alone, alone)
	}
	return nil
}

func (b *bench) manyLedAgain(ctx context.Context, r *result, name string, elections int) (sample, error) {
	m, err := b.mortals(name, death.Killed, guarded, elections, func(int) []string { return []string{function("bench.work")} })
	if err != nil {
		return nil, err
	}
	defer m.endMembers()
	if err := m.joinAll(ctx, 3); err != nil {
		return nil, err
	}
	if err := pause(ctx, settle); err != nil {
		return nil, err
	}
	since, err := m.die(ctx, m.members[0])
	if err != nil {
		return nil, err
	}
	// Look late: the look itself takes the processor from the members.
	if err := pause(ctx, 2*settle); err != nil {
		return nil, err
	}
	took, err := m.started(ctx, since, m.elections)
	if err != nil {
		return nil, err
	}
	return took, r.judgedAll(m)
}

// loopPhase lets one election kill each of its holders, while other elections go on.
func (b *bench) loopPhase(ctx context.Context, r *result, s size) error {
	const members, again = 5, time.Second
	m, err := b.mortals("loop", death.Exit, guarded, 1+s.looping, func(i int) []string {
		if i == 0 {
			return []string{function("bench.deadly")}
		}
		return []string{function("bench.work")}
	})
	if err != nil {
		return err
	}
	defer m.endMembers()
	began := b.clock.Now()
	slots, due := make([]*member, members), make([]record.Instant, members)
	for i := range slots {
		if slots[i], err = m.join(fmt.Sprintf("loop-%d", i), "stable"); err != nil {
			return err
		}
	}
	keep := func() error {
		now := b.clock.Now()
		for i, of := range slots {
			select {
			case <-of.ended:
			default:
				continue
			}
			if due[i] == 0 {
				due[i] = now.Add(again)
			}
			if now < due[i] {
				continue
			}
			due[i] = 0
			if slots[i], err = m.join(of.name, "stable"); err != nil {
				return err
			}
		}
		return pause(ctx, lookSeldom)
	}
	for b.clock.Now() < began.Add(5*time.Second) { // by then all are led
		if err := keep(); err != nil {
			return err
		}
	}
	began = b.clock.Now()
	for b.clock.Now() < began.Add(s.loop) {
		if err := keep(); err != nil {
			return err
		}
	}
	spans, err := m.spansOfAll()
	if err != nil {
		return err
	}
	r.Loop = looped(spans, m.elections, began, began.Add(s.loop))
	r.Loop.Members = members
	return r.judgedAll(m)
}

// looped is what the records say of a time in which the first of the elections killed its holders.
func looped(spans []span.Span, elections []string, from, until record.Instant) loop {
	l := loop{Elections: len(elections) - 1, Lasted: until.Sub(from), Deaths: make([]int, int((until.Sub(from)+time.Minute-1)/time.Minute))}
	of := map[string][]span.Span{}
	for _, s := range spans {
		of[s.Election] = append(of[s.Election], s)
	}
	for _, s := range of[elections[0]] {
		if s.Begin >= from && s.Begin < until {
			l.Deaths[int(s.Begin.Sub(from)/time.Minute)]++
		}
	}
	var gaps sample
	var away time.Duration
	for _, e := range elections[1:] {
		slices.SortFunc(of[e], func(a, b span.Span) int { return cmp.Compare(a.Begin, b.Begin) })
		last := from
		for _, s := range append(of[e], span.Span{Begin: until, Till: until}) {
			if gap := min(s.Begin, until).Sub(last); gap > 0 {
				gaps = append(gaps, gap)
				away += gap
			}
			last = max(last, s.Till)
		}
	}
	l.Gaps, l.P50, l.P99, l.Longest = len(gaps), gaps.at(.5), gaps.at(.99), gaps.at(1)
	l.Away = away.Seconds() / l.Lasted.Seconds() / float64(max(1, l.Elections))
	return l
}

// deathCosts adds the rows of target P12 that are no times of one election.
func (r *result) deathCosts(g *grid) {
	if p := r.Proved; len(p.Took) > 0 {
		var ratios []float64
		var took, writes sample
		for n, t := range p.Took {
			took, writes = append(took, t), append(writes, p.writes(n))
			ratios = append(ratios, ratio(t, p.writes(n)))
		}
		slices.Sort(ratios)
		median := ratios[len(ratios)/2]
		g.add("P12", fmt.Sprintf("%d elections of a member that died alone, from SIGKILL to the last one's runner: median of %d; their writes alone take %s ms; multiples %.2f to %.2f", p.Elections, len(p.Took), ms(writes.at(.5)), ratios[0], ratios[len(ratios)-1]),
			fmt.Sprintf("%s ms, %.2f x their writes", ms(took.at(.5)), median), unknown, none, "<= 1.3 x their writes", met(median <= 1.3))
	}
	if l := r.Loop; l.Lasted > 0 {
		g.add("P12", fmt.Sprintf("deaths in each minute of work that kills its process, %d members, %v", l.Members, l.Lasted), fmt.Sprint(l.Deaths), unknown, none, none, none)
		g.add("P12", fmt.Sprintf("meanwhile, the share of time in which the other %d elections had no leader; each time: p50 %s, p99 %s, max %s ms", l.Elections, ms(l.P50), ms(l.P99), ms(l.Longest)),
			fmt.Sprintf("%.3f %%, %d times", 100*l.Away, l.Gaps), unknown, none, none, none)
	}
}
