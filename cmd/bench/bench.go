package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/cmd/bench/span"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// bench is one run.
type bench struct {
	options options
	clock   clock.Clock
	// dir is a temporary folder; spans is its subfolder that the workers write to.
	dir, spans string
	// config is the configuration file of members that join; program is what they run, with flags after its own and env
	// beside the bench's environment.
	config, program string
	flags, env      []string
	// failing is the path of a file that names a revision whose stopwatches must fail. It is empty if none
	// must fail.
	failing string
	cluster *cluster
	members []*member
}

func newBench(ctx context.Context, o options) (_ *bench, err error) {
	b := &bench{options: o, clock: clock.Boottime(), program: o.primacy}
	if b.dir, err = os.MkdirTemp("", "primacy-bench-"); err != nil {
		return nil, fmt.Errorf("temporary folder: %w", err)
	}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	b.spans = filepath.Join(b.dir, "spans")
	if err := os.Mkdir(b.spans, 0o700); err != nil {
		return nil, fmt.Errorf("workers' folder: %w", err)
	}
	if b.cluster, err = startCluster(ctx, o, b.dir); err != nil {
		return nil, err
	}
	return b, nil
}

// close ends everything that the run started.
func (b *bench) close() {
	b.endMembers()
	if b.cluster != nil {
		if err := b.cluster.close(); err != nil {
			fmt.Fprintln(os.Stderr, "bench: devcluster:", err)
		}
	}
	if err := os.RemoveAll(b.dir); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
}

// printVerdict prints the judge's findings; it returns an error if anything is wrong.
func printVerdict(v verdict) error {
	fmt.Printf("terms %d, overlaps %d (%v in all), falling tokens %d\n", v.terms, len(v.overlaps), v.overlapping(), len(v.falling))
	for _, o := range v.overlaps {
		fmt.Println("  ", o)
	}
	for _, f := range v.falling {
		fmt.Println("  ", f)
	}
	if len(v.overlaps) > 0 || len(v.falling) > 0 {
		return errors.New("leadership was not exclusive")
	}
	return nil
}

// until waits until each election has a worker that began after since, and returns how long after
// since each election's first one began.
func (b *bench) until(ctx context.Context, what string, since record.Instant, elections []string) (sample, error) {
	return b.untilIn(ctx, what, since, elections, func() ([]span.Span, error) { return span.Read(b.spans) })
}

// untilIn is until by the records that read returns.
func (b *bench) untilIn(ctx context.Context, what string, since record.Instant, elections []string, read func() ([]span.Span, error)) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		spans, err := read()
		if err != nil {
			return nil, err
		}
		first := map[string]record.Instant{}
		for _, s := range spans {
			if s.Begin > since && (first[s.Election] == 0 || s.Begin < first[s.Election]) {
				first[s.Election] = s.Begin
			}
		}
		var took sample
		var missing []string
		for _, e := range elections {
			if first[e] == 0 {
				missing = append(missing, e)
				continue
			}
			took = append(took, first[e].Sub(since))
		}
		if len(missing) == 0 {
			return took, nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			few := missing[:min(3, len(missing))]
			return nil, fmt.Errorf("after %s nobody works in %d elections, such as %v: %w\n%s", what, len(missing), few, ctx.Err(), b.tails())
		}
	}
}

// working are the spans of the present workers: the last span of each election.
func (b *bench) working() (map[string]span.Span, error) {
	spans, err := span.Read(b.spans)
	if err != nil {
		return nil, err
	}
	last := map[string]span.Span{}
	for _, s := range spans {
		if s.Begin > last[s.Election].Begin {
			last[s.Election] = s
		}
	}
	return last, nil
}

// ofMember are the elections for which the member works now.
func (b *bench) ofMember(m *member) ([]string, error) {
	last, err := b.working()
	if err != nil {
		return nil, err
	}
	var found []string
	for e, s := range last {
		if descends(s.PID, m.process.Process.Pid) {
			found = append(found, e)
		}
	}
	slices.Sort(found)
	return found, nil
}
