package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/cmd/bench/span"
)

// The phases of the table that measure the whole program, with one election whose runner is a
// program.

func electionNames(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("e%03d", i))
	}
	return all
}

// programPhase measures handovers and switches. Its members keep running, for the crash phase.
func (b *bench) programPhase(ctx context.Context, r *result, s size) (err error) {
	if err := b.programs(ctx); err != nil {
		return err
	}
	switched, err := b.switches(ctx, s.programSwitches, electionNames(1))
	if err != nil {
		return err
	}
	handed, err := b.handovers(ctx, s.programHandovers)
	if err != nil {
		return err
	}
	r.Moves = append(r.Moves,
		move{Target: "P1", What: "the same, and the next starts a program", Who: program, Took: handed},
		move{Target: "P2", What: "the same, and a program ends and starts", Who: program, Took: switched})
	spans, err := span.Read(b.spans)
	if err != nil {
		return err
	}
	r.P2.add(judge(spans)) // judgeProgram adds these spans to r.All
	return nil
}

// programs starts three members, unless they run.
func (b *bench) programs(ctx context.Context) (err error) {
	if len(b.members) > 0 {
		return nil
	}
	if b.config, err = b.configFile("primacy.yaml", "bench", "{kind: Lease}", electionNames(1)); err != nil {
		return err
	}
	if err := b.cluster.prefer(ctx, namespace, "stable"); err != nil {
		return err
	}
	began := b.clock.Now()
	for _, name := range []string{"stable-0", "stable-1"} {
		if _, err := b.join(name, "stable"); err != nil {
			return err
		}
	}
	if _, err := b.until(ctx, "the start", began, electionNames(1)); err != nil {
		return err
	}
	// The first switch is to this one, so it must not lead before.
	return b.comeBack(ctx, &member{name: "canary-0", revision: "canary"})
}

// deathPhase kills the leading program alone, so that its parent proves its death.
func (b *bench) deathPhase(ctx context.Context, r *result, s size) error {
	if err := b.programs(ctx); err != nil {
		return err
	}
	var all sample
	for range s.deaths {
		m, elections, err := b.leader(ctx)
		if err != nil {
			return err
		}
		since := b.clock.Now()
		if err := m.kill(ctx, memberAlone); err != nil {
			return err
		}
		took, err := b.until(ctx, "the death of "+m.name, since, elections)
		if err != nil {
			return err
		}
		all = append(all, took...)
		if err := b.comeBack(ctx, m); err != nil {
			return err
		}
		// Deaths of several holders in a row make the others wait.
		if _, err := b.handovers(ctx, 1); err != nil {
			return err
		}
	}
	r.Moves = append(r.Moves, move{Target: "P12", What: "crash of the member alone: SIGKILL -> next runner starts, 1 election", Who: program, Took: all})
	return b.judgeProgram(r)
}

// killProgram kills the leading program and its parent. The returned function waits until another program leads.
func (b *bench) killProgram(ctx context.Context) (taken func(validity time.Duration) (sample, int, error), err error) {
	m, elections, err := b.leader(ctx)
	if err != nil {
		return nil, err
	}
	renewed, err := b.watchRenewals(ctx, namespace, elections)
	if err != nil {
		return nil, err
	}
	since := b.clock.Now()
	if err := m.kill(ctx, withParent); err != nil {
		return nil, errors.Join(err, renewed.stop())
	}
	return func(validity time.Duration) (sample, int, error) {
		took, err := b.until(ctx, "the death of "+m.name, since, elections)
		if err := errors.Join(err, renewed.stop()); err != nil {
			return nil, 0, err
		}
		early := 0
		for i, e := range elections {
			if since.Add(took[i]) < renewed.last[e].Add(validity) {
				early++
			}
		}
		return took, early, b.comeBack(ctx, m)
	}, nil
}

// startPhase starts the program in a group of its own, and measures the time to its first term, with a parent and without in turns.
func (b *bench) startPhase(ctx context.Context, r *result, s size) error {
	with := move{Target: "P11", What: "start of the process -> its first runner starts", Who: program}
	without := move{Target: with.Target, What: with.What, Who: parentless}
	for i := range s.starts {
		for _, m := range []*move{&with, &without} {
			took, err := b.start(ctx, fmt.Sprintf("start-%d-%d", i, rank(m.Who)), m.Who)
			if err != nil {
				return err
			}
			m.Took = append(m.Took, took...)
		}
	}
	r.Moves = append(r.Moves, with, without)
	return nil
}

// start measures one start of a member, whose one election has its name, and ends it.
func (b *bench) start(ctx context.Context, name string, who contender) (sample, error) {
	config, flags := b.config, b.flags
	defer func() { b.config, b.flags = config, flags }()
	if who == parentless {
		b.flags = append(slices.Clone(flags), string(unguarded))
	}
	var err error
	if b.config, err = b.configFile(name+".yaml", name, "{kind: Lease}", []string{name}); err != nil {
		return nil, err
	}
	began := b.clock.Now()
	m, err := b.join(name, "stable")
	if err != nil {
		return nil, err
	}
	took, err := b.until(ctx, "the start", began, []string{name})
	if err != nil {
		return nil, err
	}
	return took, m.signal(ctx, syscall.SIGTERM)
}

// judgeProgram judges all records of the programs.
func (b *bench) judgeProgram(r *result) error {
	spans, err := span.Read(b.spans)
	if err != nil {
		return err
	}
	v := judge(spans)
	r.All.add(v)
	for _, o := range v.overlaps {
		fmt.Fprintln(os.Stderr, "bench:", o)
	}
	return nil
}
