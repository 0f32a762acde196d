package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/primacy-dev/primacy/cmd/bench/span"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// bench is one run.
type bench struct {
	options options
	clock   clock.Clock
	// dir is a temporary folder; spans, the one in it that the workers write to.
	dir, spans string
	// config is the file of members that join.
	config  string
	cluster *cluster
	members []*member
}

func newBench(ctx context.Context, o options) (_ *bench, err error) {
	b := &bench{options: o, clock: clock.Boottime()}
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
	if b.config, err = b.configFile("primacy.yaml", "{kind: Lease}"); err != nil {
		return nil, err
	}
	if b.cluster, err = startCluster(ctx, o, b.dir); err != nil {
		return nil, err
	}
	return b, nil
}

// close ends everything that the run started.
func (b *bench) close() {
	for _, m := range b.members {
		select {
		case <-m.ended:
		default:
			_ = m.process.Process.Signal(syscall.SIGTERM) // it may just have ended
		}
	}
	for _, m := range b.members {
		select {
		case <-m.ended:
		case <-time.After(30 * time.Second):
			_ = m.process.Process.Kill() // as above
			<-m.ended
		}
	}
	if b.cluster != nil {
		if err := b.cluster.close(); err != nil {
			fmt.Fprintln(os.Stderr, "bench: devcluster:", err)
		}
	}
	if err := os.RemoveAll(b.dir); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
}

// measure runs all trials and prints the table.
func (b *bench) measure(ctx context.Context) error {
	if v := judge(planted()); v.overlapping() != time.Millisecond {
		return fmt.Errorf("the judge does not see a planted overlap of 1 ms: %+v", v)
	}
	update, event, err := b.cluster.physical(ctx, 200)
	if err != nil {
		return err
	}
	if err := b.cluster.prefer(ctx, "stable"); err != nil {
		return err
	}
	started := b.clock.Now()
	for _, m := range []struct{ name, revision string }{{"stable-0", "stable"}, {"stable-1", "stable"}, {"canary-0", "canary"}} {
		if _, err := b.join(m.name, m.revision); err != nil {
			return err
		}
	}
	cold, err := b.until(ctx, "the start", started, nil)
	if err != nil {
		return err
	}
	switched, err := b.switches(ctx)
	if err != nil {
		return err
	}
	handed, err := b.handovers(ctx)
	if err != nil {
		return err
	}
	killed, early, err := b.kills(ctx)
	if err != nil {
		return err
	}
	spans, err := span.Read(b.spans)
	if err != nil {
		return err
	}
	v := judge(spans)

	reference := event.at(.5)
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "%d elections x 3 members, profile %s, fsync %v; ratio to update -> event p50\n", b.options.elections, b.options.profile, b.options.fsync)
	fmt.Fprintln(w, header)
	fmt.Fprintln(w, update.row("bare update", reference))
	fmt.Fprintln(w, event.row("update -> event", reference))
	fmt.Fprintln(w, cold.row("process start -> all led", reference))
	fmt.Fprintln(w, switched.row("preference -> runner starts (P2)", reference))
	fmt.Fprintln(w, handed.row("SIGTERM -> next runner starts (P1)", reference))
	fmt.Fprintln(w, killed.row("SIGKILL -> next runner starts (P4)", reference))
	if err := w.Flush(); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	fmt.Printf("takeovers before the validity ended %d\n", early)
	if early > 0 {
		return errors.Join(errors.New("taken over too early"), printVerdict(v))
	}
	return printVerdict(v)
}

// printVerdict says what the judge found; anything wrong is an error.
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

// until waits until every election of the set (nil: all) has a worker that began after
// since, and returns how long after since each first did.
func (b *bench) until(ctx context.Context, what string, since record.Instant, elections []string) (sample, error) {
	if elections == nil {
		for i := range b.options.elections {
			elections = append(elections, fmt.Sprintf("e%03d", i))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		spans, err := span.Read(b.spans)
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
			return nil, fmt.Errorf("after %s nobody works in %v: %w\n%s", what, missing, ctx.Err(), b.tail("stable-0"))
		}
	}
}

// working are the spans that are going on now: the last of each election.
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

// ofMember are the elections whose present worker is a child of the member.
func (b *bench) ofMember(m *member) ([]string, error) {
	last, err := b.working()
	if err != nil {
		return nil, err
	}
	var found []string
	for e, s := range last {
		if parent(s.PID) == m.process.Process.Pid {
			found = append(found, e)
		}
	}
	slices.Sort(found)
	return found, nil
}
