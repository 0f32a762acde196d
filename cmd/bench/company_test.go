package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/primacy-dev/primacy/cmd/bench/span"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// looking is a clock that counts how often begun looks at the runners' records: begun reads the clock each time.
type looking struct {
	clock.Clock
	looks int
	look  func(n int)
}

func (l *looking) Now() record.Instant {
	l.looks++
	l.look(l.looks)
	return l.Clock.Now()
}

// TestBegunWaitsForTheRunners checks that begun waits for late records: a member leads before its runner
// has recorded the beginning.
func TestBegunWaitsForTheRunners(t *testing.T) {
	m := &process{name: "m", spans: filepath.Join(t.TempDir(), "m.spans")}
	n, err := span.OpenNotes(m.spans)
	if err != nil {
		t.Fatal(err)
	}
	since := clock.Boottime().Now()
	l := &looking{Clock: clock.Boottime(), look: func(look int) {
		if look <= 3 {
			if err := n.Begin(electionName(look-1), 1); err != nil {
				t.Error(err)
			}
		}
	}}
	c := &company{b: &bench{clock: l}, namespace: "handover", elections: 3, members: []*process{m}}
	if took, first, err := c.begun(t.Context(), since, c.all()); err != nil || len(took) != 3 || len(first) != 3 {
		t.Errorf("of three that began one after the other it says %v, %v", took, err)
	}
	if l.looks != 3 {
		t.Errorf("it looked %d times", l.looks)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := c.begun(ctx, l.Now(), c.all()); !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "handover: work began in 0 of 3 elections") {
		t.Errorf("of none that began it says %v", err)
	}
}
