package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"

	"github.com/primacy-dev/primacy/cmd/bench/death"
)

// parts are the processes of a member that works: its parent, the member itself, the guard and the supervisor of its
// program, and the program.
type parts [5]int

const (
	thisParent = iota
	thisMember
)

// partsOf are the parts of the member that works for the only election of its group.
func (m *mortals) partsOf(of *member) (p parts, err error) {
	last, err := m.working()
	if err != nil {
		return p, err
	}
	program := last[m.elections[0]].PID
	p = parts{of.process.Process.Pid, of.member(), parent(parent(program)), parent(program), program}
	if parent(p[2]) != p[thisMember] || p[thisMember] == p[thisParent] {
		return p, fmt.Errorf("member %s: its processes are %v, and they must follow each other", of.name, p)
	}
	return p, nil
}

// strike kills the chosen parts in one moment, in any order.
func (p parts) strike(chosen int) error {
	var errs []error
	for _, i := range rand.Perm(len(p)) {
		if chosen&(1<<i) == 0 {
			continue
		}
		if err := syscall.Kill(p[i], syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, fmt.Errorf("process %d of %v: %w", i, p, err))
		}
	}
	return errors.Join(errs...)
}

// partsLanes is how many groups are struck side by side: where nobody can prove a death, others wait for a lease.
const partsLanes = 4

// partsPhase kills parts of the leading member in one moment, in each combination, with the profile fast.
func (b *bench) partsPhase(ctx context.Context, r *result, s size) error {
	fast := *b
	fast.options.profile = "fast"
	var todo [partsLanes][]int
	for range s.combinations {
		for chosen := 1; chosen < 1<<len(parts{}); chosen++ {
			lane := chosen % partsLanes
			todo[lane] = append(todo[lane], chosen)
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex // guards r and what follows
	var errs []error
	var withParent, without sample
	for lane, all := range todo {
		wg.Go(func() {
			proved, waited, err := fast.struck(ctx, r, &mu, fmt.Sprintf("parts-%d", lane), all)
			mu.Lock()
			defer mu.Unlock()
			withParent, without = slices.Concat(withParent, proved), slices.Concat(without, waited)
			errs = append(errs, err)
		})
	}
	wg.Wait()
	r.Moves = append(r.Moves,
		move{Target: "P12", What: "parts of a member killed in one moment, its parent lives (profile fast)", Who: program, Burst: true, Took: withParent},
		move{Target: "P12", What: "the same, its parent is one of them", Who: program, Burst: true, Took: without})
	return errors.Join(errs...)
}

// struck strikes the leading member of a group once for each combination.
func (b *bench) struck(ctx context.Context, r *result, mu *sync.Mutex, name string, todo []int) (proved, waited sample, err error) {
	if len(todo) == 0 {
		return nil, nil, nil
	}
	m, err := b.mortals(name, death.Killed, guarded, 1, func(int) []string { return []string{b.stopwatch(name)} })
	if err != nil {
		return nil, nil, err
	}
	defer m.endMembers()
	if err := m.joinAll(ctx, 3); err != nil {
		return nil, nil, err
	}
	for _, chosen := range todo {
		of, elections, err := m.leader(ctx)
		if err != nil {
			return nil, nil, err
		}
		p, err := m.partsOf(of)
		if err != nil {
			return nil, nil, err
		}
		since := m.clock.Now()
		if err := p.strike(chosen); err != nil {
			return nil, nil, err
		}
		took, err := m.until(ctx, fmt.Sprintf("kill of %05b", chosen), since, elections)
		if err != nil {
			return nil, nil, err
		}
		if chosen&(1<<thisParent) == 0 {
			proved = append(proved, took...)
		} else {
			waited = append(waited, took...)
		}
		if chosen&(1<<thisParent|1<<thisMember) == 0 {
			continue
		}
		if err := of.wait(ctx); err != nil {
			return nil, nil, err
		}
		if err := m.comeBack(ctx, of); err != nil {
			return nil, nil, err
		}
	}
	spans, err := m.spansOfAll()
	if err != nil {
		return nil, nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	r.found(judgeRestarts(spans))
	return proved, waited, nil
}
