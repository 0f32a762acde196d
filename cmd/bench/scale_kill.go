package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/primacy-dev/primacy/cmd/bench/span"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// scaleKill kills the member that leads up to a thousand elections, and judges by what all
// runners wrote down.
func (b *bench) scaleKill(ctx context.Context, s *scaled) (err error) {
	s.Killed = min(retaken, s.Elections)
	all := &processes{}
	defer func() { err = errors.Join(err, all.end(syscall.SIGKILL)) }()
	for i := range s.Members {
		name := fmt.Sprintf("kill-%d", i)
		p, err := b.launch(crowdMember, name, "-namespace", "kill", "-elections", strconv.Itoa(s.Killed), "-spans", b.dir+"/"+name+".spans")
		if err != nil {
			return err
		}
		*all = append(*all, p)
		want := func(is state) bool { return is.Leads == s.Killed }
		if i > 0 {
			want = func(is state) bool { return is.Sees == s.Killed }
		}
		if _, err := p.until(ctx, patience, want); err != nil {
			return err
		}
	}
	// A member that has just come is not moved to, and this one must be known by all.
	if err := pause(ctx, 5*time.Second); err != nil {
		return err
	}
	before, err := b.cluster.leaseRequests(ctx)
	if err != nil {
		return err
	}
	victim, rest := (*all)[0], (*all)[1:]
	killed := b.clock.Now()
	if err := victim.end(syscall.SIGKILL); err != nil {
		return err
	}
	dead := b.clock.Now()
	*all = rest
	for led := 0; led < s.Killed; {
		led = 0
		for _, p := range rest {
			is, err := p.ask("state")
			if err != nil {
				return err
			}
			led += is.Leads
		}
		if b.clock.Now() > killed.Add(patience) {
			return fmt.Errorf("%d of %d elections are led again after %v", led, s.Killed, patience)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	after, err := b.cluster.leaseRequests(ctx)
	if err != nil {
		return err
	}
	s.KillRequests = after.since(before).codes
	if err := all.end(syscall.SIGTERM); err != nil { // so that all runners say when they ended
		return err
	}
	spans, err := readSpans(victim.spans, dead)
	if err != nil {
		return err
	}
	again := map[string]record.Instant{}
	for _, p := range rest {
		theirs, err := readSpans(p.spans, b.clock.Now())
		if err != nil {
			return err
		}
		for _, t := range theirs {
			if at := again[t.Election]; at == 0 || t.Begin < at {
				again[t.Election] = t.Begin
			}
		}
		spans = append(spans, theirs...)
	}
	v := judge(spans)
	s.Terms, s.Overlaps, s.FallingTokens = v.terms, len(v.overlaps), len(v.falling)
	for _, at := range again {
		s.Retake = append(s.Retake, at.Sub(killed))
	}
	s.RetakeRate = float64(len(s.Retake)) / (s.Retake.at(1) - s.Retake.at(0)).Seconds()
	s.RetakeRatio = s.RetakeRate / s.RawUpdates
	return nil
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

// readSpans reads what the runners of one process wrote down; those that did not end were
// at work until then, at most.
func readSpans(file string, until record.Instant) ([]span.Span, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("runners' file: %w", err)
	}
	defer func() { _ = f.Close() }() // it was read
	open := map[string]int{}
	var spans []span.Span
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var what, election string
		var token uint64
		var at int64
		if _, err := fmt.Sscan(lines.Text(), &what, &election, &token, &at); err != nil {
			return nil, fmt.Errorf("runners' file %s: %q: %w", file, lines.Text(), err)
		}
		key := fmt.Sprint(election, " ", token)
		if what == "begin" {
			open[key] = len(spans)
			spans = append(spans, span.Span{Election: election, Token: token, Begin: record.Instant(at), Till: until})
			continue
		}
		i, found := open[key]
		if !found {
			return nil, fmt.Errorf("runners' file %s: %q ends what did not begin", file, lines.Text())
		}
		spans[i].Till, spans[i].Ended = record.Instant(at), true
	}
	return spans, lines.Err()
}
