package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/primacy-dev/primacy/cmd/bench/span"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// stage is a rolling restart of all members to one configuration.
type stage struct {
	name, lock string
	// kill is the index of the restart that begins with a kill, of the member that leads most among
	// those not yet restarted; -1 for none.
	kill int
	// began is when the stage began.
	began record.Instant
}

// flipEvery is how often the preferred revision changes during a move.
const flipEvery = 5 * time.Second

// stages are all stages: to Leases through a stage with both locks, and back in the same way.
func stages() []*stage {
	return []*stage{
		{name: "ConfigMap only", lock: "{kind: ConfigMap}", kill: -1},
		{name: "both: ConfigMap to Lease", lock: "{kind: Lease, migrateFrom: {kind: ConfigMap}}", kill: 1},
		{name: "Lease only", lock: "{kind: Lease}", kill: 1},
		{name: "both: Lease to ConfigMap", lock: "{kind: ConfigMap, migrateFrom: {kind: Lease}}", kill: -1},
		{name: "ConfigMap only again", lock: "{kind: ConfigMap}", kill: -1},
	}
}

// otherPlace is a namespace that every API server makes.
const otherPlace = "kube-system"

// placeStages are all stages of a move to another namespace, and back.
func placeStages() []*stage {
	const here, there = "namespace: " + namespace, "namespace: " + otherPlace
	return []*stage{
		{name: "beside the sessions", lock: "{}", kill: -1},
		{name: "both: to kube-system", lock: "{" + there + ", migrateFrom: {" + here + "}}", kill: 1},
		{name: "kube-system only", lock: "{" + there + "}", kill: 1},
		{name: "both: from kube-system", lock: "{migrateFrom: {" + there + "}}", kill: -1},
		{name: "beside the sessions again", lock: "{}", kill: 1},
	}
}

func (b *bench) moveKinds(ctx context.Context) error  { return b.move(ctx, stages()) }
func (b *bench) movePlaces(ctx context.Context) error { return b.move(ctx, placeStages()) }

// move restarts the members stage by stage under load, and judges the stopwatches'
// records.
func (b *bench) move(ctx context.Context, all []*stage) (err error) {
	if v := judge(planted()); v.overlapping() != time.Millisecond {
		return fmt.Errorf("the judge does not see a planted overlap of 1 ms: %+v", v)
	}
	if err := b.cluster.prefer(ctx, namespace, "stable"); err != nil {
		return err
	}
	fmt.Println("load before:", loadavg())
	if err := b.first(ctx, all[0]); err != nil {
		return err
	}
	storm, err := b.startStorm(ctx, 4)
	if err != nil {
		return err
	}
	flips := b.startFlips(ctx)
	err = b.roll(ctx, all[1:])
	writes, failed := storm.stop()
	err = errors.Join(err, flips.stop())
	if err != nil {
		return err
	}
	fmt.Printf("load after: %s; others' writes %d (%.0f/s, %d failed), preference changed %d times\n",
		loadavg(), writes, float64(writes)/b.clock.Now().Sub(all[1].began).Seconds(), failed, flips.count)
	spans, err := span.Read(b.spans)
	if err != nil {
		return err
	}
	if err := printGaps(all, spans); err != nil {
		return err
	}
	return printVerdict(judge(spans))
}

// first starts the members of the first stage.
func (b *bench) first(ctx context.Context, s *stage) (err error) {
	if b.config, err = b.configFile("stage-0.yaml", "bench", s.lock, electionNames(b.options.elections)); err != nil {
		return err
	}
	s.began = b.clock.Now()
	for _, m := range []struct{ name, revision string }{{"stable-0", "stable"}, {"stable-1", "stable"}, {"canary-0", "canary"}} {
		if _, err := b.join(m.name, m.revision); err != nil {
			return err
		}
	}
	_, err = b.until(ctx, "the start", s.began, electionNames(b.options.elections))
	return err
}

// roll restarts one member after another, stage by stage.
func (b *bench) roll(ctx context.Context, rest []*stage) (err error) {
	for i, s := range rest {
		if b.config, err = b.configFile(fmt.Sprintf("stage-%d.yaml", i+1), "bench", s.lock, electionNames(b.options.elections)); err != nil {
			return err
		}
		s.began = b.clock.Now()
		members := slices.Clone(b.members[len(b.members)-3:])
		for n := range members {
			how := syscall.SIGTERM
			if n == s.kill {
				how = syscall.SIGKILL
				if err := b.leaderFirst(members[n:]); err != nil {
					return err
				}
			}
			m := members[n]
			led, err := b.ofMember(m)
			if err != nil {
				return err
			}
			since := b.clock.Now()
			end := func() error { return m.signal(ctx, how) }
			if how == syscall.SIGKILL {
				end = func() error { return m.kill(ctx, withParent) }
			}
			if err := end(); err != nil {
				return err
			}
			if err := b.comeBack(ctx, m); err != nil {
				return err
			}
			if _, err := b.until(ctx, "the end of "+m.name+", "+s.name, since, led); err != nil {
				return err
			}
			fmt.Printf("%s: %s ended by %v led %d elections; all are led again\n", s.name, m.name, how, len(led))
		}
		// Time for one more change of the preference with all members restarted.
		time.Sleep(2 * flipEvery)
	}
	return nil
}

// leaderFirst moves the member that leads most elections to the front.
func (b *bench) leaderFirst(members []*member) error {
	most := 0
	for i, m := range members {
		led, err := b.ofMember(m)
		if err != nil {
			return err
		}
		if len(led) > most {
			most = len(led)
			members[0], members[i] = members[i], members[0]
		}
	}
	return nil
}

// flips changes the preferred revision back and forth.
type flips struct {
	count int
	stop  func() error
}

func (b *bench) startFlips(ctx context.Context) *flips {
	ctx, cancel := context.WithCancel(ctx)
	f := &flips{}
	var wg sync.WaitGroup
	var err error
	wg.Go(func() {
		tick := time.NewTicker(flipEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			if e := b.cluster.prefer(ctx, namespace, []string{"canary", "stable"}[f.count%2]); e != nil && ctx.Err() == nil {
				err = errors.Join(err, e)
			}
			f.count++
		}
	})
	f.stop = func() error {
		cancel()
		wg.Wait()
		return err
	}
	return f
}

// printGaps prints for how long elections had no worker, by the stage in which the gap began.
func printGaps(all []*stage, spans []span.Span) error {
	slices.SortFunc(spans, func(a, b span.Span) int {
		return cmp.Or(strings.Compare(a.Election, b.Election), cmp.Compare(a.Begin, b.Begin))
	})
	gaps := make([]sample, len(all))
	longest := map[string]time.Duration{}
	for i, s := range spans[:len(spans)-1] {
		next := spans[i+1]
		if next.Election != s.Election {
			continue
		}
		gap := next.Begin.Sub(s.Till)
		in := len(all) - 1
		for all[in].began > s.Till {
			in--
		}
		gaps[in] = append(gaps[in], gap)
		longest[s.Election] = max(longest[s.Election], gap)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "without work, by when it began"+header)
	for i, s := range all {
		fmt.Fprintln(w, gaps[i].row(s.name, 0))
	}
	var worst sample
	for _, d := range longest {
		worst = append(worst, d)
	}
	fmt.Fprintln(w, worst.row("longest of each election", 0))
	if err := w.Flush(); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	return nil
}

// loadavg is the machine's load, from /proc/loadavg.
func loadavg() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(data))
}
