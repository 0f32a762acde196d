package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The scale scenario: what many elections cost, and how long they take to be won and to be
// won back.

const (
	// idleFor is how long requests and CPU are counted while nothing happens.
	idleFor = 30 * time.Second
	// retaken is how many elections the member leads that is killed, at most.
	retaken = 1000
	// ofElectors is how many elections client-go's electors have, in each of three members.
	ofElectors = 100
	patience   = 5 * time.Minute
)

// scaled is what the scenario found; times are milliseconds, rates are per second, CPU is
// percent of one core, memory is bytes.
type scaled struct {
	Elections, Members    int
	LoadBefore, LoadAfter string
	Cores                 int

	RawCreates, RawUpdates float64
	// ColdTook is from the start of the process to the last election led; ColdWrites counts
	// the API server's requests, two of which win an election.
	ColdTook, ColdTakes, ColdRatio float64
	ColdRequests                   map[string]float64

	BaseRequests, IdleRequests float64
	IdleCPU                    []float64
	RSSBase                    uint64
	RSS                        []uint64
	RSSPerElection             []float64
	Heap                       []uint64
	Goroutines                 []int

	Electors          int
	ElectorRequests   float64
	ElectorCPU        []float64
	ElectorGoroutines []int
	ElectorRSS        []uint64

	Killed        int
	Retake        sample
	RetakeRate    float64
	RetakeRatio   float64
	KillRequests  map[string]float64
	Terms         int
	Overlaps      int
	FallingTokens int
}

func (b *bench) scale(ctx context.Context) error {
	if v := judge(planted()); v.overlapping() != time.Millisecond {
		return fmt.Errorf("the judge does not see a planted overlap of 1 ms: %+v", v)
	}
	s := &scaled{Elections: b.options.elections, Members: b.options.members, LoadBefore: loadavg(), Cores: runtime.NumCPU()}
	for _, n := range []string{"raw", "base", "crowd", "electors", "kill"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n}}
		if _, err := b.cluster.core.Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("namespace: %w", err)
		}
	}
	for _, stage := range []func(context.Context, *scaled) error{b.scaleRaw, b.scaleIdle, b.scaleElectors, b.scaleKill} {
		if err := stage(ctx, s); err != nil {
			return err
		}
	}
	s.LoadAfter = loadavg()
	if err := s.print(); err != nil {
		return err
	}
	if b.options.json != "" {
		data, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return fmt.Errorf("results: %w", err)
		}
		if err := os.WriteFile(b.options.json, append(data, '\n'), 0o600); err != nil {
			return fmt.Errorf("results: %w", err)
		}
	}
	if s.Overlaps > 0 || s.FallingTokens > 0 {
		return errors.New("leadership was not exclusive")
	}
	return nil
}

// scaleRaw measures the API server alone: what it asks of itself, and what it can do.
func (b *bench) scaleRaw(ctx context.Context, s *scaled) (err error) {
	if _, s.BaseRequests, _, err = b.idle(ctx, nil); err != nil {
		return err
	}
	s.RawCreates, s.RawUpdates, err = b.cluster.throughput(ctx, min(2000, max(200, s.Elections)))
	return err
}

// scaleIdle lets one member win all elections and others follow it.
func (b *bench) scaleIdle(ctx context.Context, s *scaled) (err error) {
	base, err := b.launch(crowdMember, "base", "-namespace", "base", "-group", "base")
	if err != nil {
		return err
	}
	_, err = base.until(ctx, patience, func(s state) bool { return s.Leads == 1 })
	if err == nil {
		_, err = base.ask("collect")
	}
	if err == nil {
		s.RSSBase, err = base.rss()
	}
	if err = errors.Join(err, base.end(syscall.SIGTERM)); err != nil {
		return err
	}

	before, err := b.cluster.leaseRequests(ctx)
	if err != nil {
		return err
	}
	all := &processes{}
	defer func() { err = errors.Join(err, all.end(syscall.SIGKILL)) }()
	args := []string{"-namespace", "crowd", "-elections", strconv.Itoa(s.Elections)}
	if b.options.writes > 0 {
		args = append(args, "-writes", fmt.Sprint(b.options.writes))
	}
	for i := range s.Members {
		p, err := b.launch(crowdMember, fmt.Sprintf("crowd-%d", i), args...)
		if err != nil {
			return err
		}
		*all = append(*all, p)
		if i > 0 {
			if _, err := p.until(ctx, patience, func(is state) bool { return is.Sees == s.Elections }); err != nil {
				return err
			}
			continue
		}
		is, err := p.until(ctx, patience, func(is state) bool { return is.Leads == s.Elections })
		if err != nil {
			return err
		}
		took := is.Now.Sub(p.started)
		s.ColdTook, s.ColdTakes = inMS(took), float64(s.Elections)/took.Seconds()
		s.ColdRatio = s.ColdTakes * (1/s.RawCreates + 1/s.RawUpdates)
		after, err := b.cluster.leaseRequests(ctx)
		if err != nil {
			return err
		}
		s.ColdRequests = after.since(before).codes
	}
	if s.IdleCPU, s.IdleRequests, s.Goroutines, err = b.idle(ctx, *all); err != nil {
		return err
	}
	for _, p := range *all {
		is, err := p.ask("collect")
		if err != nil {
			return err
		}
		rss, err := p.rss()
		if err != nil {
			return err
		}
		s.Heap, s.RSS = append(s.Heap, is.Heap), append(s.RSS, rss)
		s.RSSPerElection = append(s.RSSPerElection, (float64(rss)-float64(s.RSSBase))/float64(s.Elections))
	}
	return nil
}

// scaleElectors measures client-go's electors in the same way.
func (b *bench) scaleElectors(ctx context.Context, s *scaled) (err error) {
	s.Electors = ofElectors
	all := &processes{}
	defer func() { err = errors.Join(err, all.end(syscall.SIGKILL)) }()
	for i := range s.Members {
		p, err := b.launch(electorMember, fmt.Sprintf("electors-%d", i), "-namespace", "electors", "-elections", strconv.Itoa(ofElectors))
		if err != nil {
			return err
		}
		*all = append(*all, p)
		if _, err := p.until(ctx, patience, func(s state) bool { return s.Sees == ofElectors }); err != nil {
			return err
		}
	}
	if s.ElectorCPU, s.ElectorRequests, s.ElectorGoroutines, err = b.idle(ctx, *all); err != nil {
		return err
	}
	for _, p := range *all {
		rss, err := p.rss()
		if err != nil {
			return err
		}
		s.ElectorRSS = append(s.ElectorRSS, rss)
	}
	return nil
}

// idle counts what the processes use, and the API server is asked, in idleFor.
func (b *bench) idle(ctx context.Context, all []*process) (cpu []float64, rate float64, goroutines []int, err error) {
	used := make([]time.Duration, len(all))
	for i, p := range all {
		is, err := p.ask("collect")
		if err != nil {
			return nil, 0, nil, err
		}
		goroutines = append(goroutines, is.Goroutines)
		if used[i], err = p.cpu(); err != nil {
			return nil, 0, nil, err
		}
	}
	before, err := b.cluster.leaseRequests(ctx)
	if err != nil {
		return nil, 0, nil, err
	}
	wait := time.NewTimer(idleFor)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return nil, 0, nil, ctx.Err()
	}
	after, err := b.cluster.leaseRequests(ctx)
	if err != nil {
		return nil, 0, nil, err
	}
	for i, p := range all {
		now, err := p.cpu()
		if err != nil {
			return nil, 0, nil, err
		}
		cpu = append(cpu, 100*(now-used[i]).Seconds()/idleFor.Seconds())
	}
	return cpu, after.rate(before), goroutines, nil
}

// processes are ended together.
type processes []*process

func (all *processes) end(sig syscall.Signal) error {
	var errs []error
	for _, p := range *all {
		errs = append(errs, p.cmd.Process.Signal(sig)) // at once, so that none takes over from another
	}
	for _, p := range *all {
		errs = append(errs, p.wait())
	}
	*all = nil
	return errors.Join(errs...)
}

func inMS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
