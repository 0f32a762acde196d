//go:build linux

package deadman

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// living returns the processes that have the word among their arguments. Zombies have none.
func living(t *testing.T, word string) (pids []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		if line, err := os.ReadFile(path); err == nil && slices.Contains(strings.Split(string(line), "\x00"), word) {
			pids = append(pids, filepath.Base(filepath.Dir(path)))
		}
	}
	return pids
}

// TestLateStarts lets the time of a program end at any moment of its start. When Start has returned
// an error, or Wait has returned, neither the program nor anything that it started may live. One of
// its helpers leaves its group.
func TestLateStarts(t *testing.T) {
	t.Run("nobody's heir", func(t *testing.T) {
		disowned(t)
		lateStarts(t)
	})
	t.Run("heir", func(t *testing.T) {
		if err := Adopt(); err != nil {
			t.Fatal(err)
		}
		lateStarts(t)
	})
}

func lateStarts(t *testing.T) {
	const starts, atOnce = 1000, 8
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var next, late, begun, left atomic.Int64
	// least is how long a start takes on this machine now. The instants to kill at are chosen around
	// it.
	var least atomic.Int64
	least.Store(int64(20 * time.Millisecond))
	start := func(n int64) {
		length := fmt.Sprintf("300.%d%06d", os.Getpid(), n) // marks this start, also among those of other runs
		span := time.Duration(least.Load() * (n%40 + 1) / 20)
		began := time.Now()
		p, err := Start(t.Context(), Program{
			Path: "/bin/sh", Args: []string{"sh", "-c", `sleep "$0" & setsid sleep "$0" & (sleep "$0" &) ; wait`, length}, Files: []*os.File{null, null, null},
		}, clock.Boottime().Now().Add(span))
		switch {
		case err == nil:
			least.Store((3*least.Load() + int64(time.Since(began))) / 4)
			begun.Add(1)
			if p.Supervisor() <= 0 { // a signal to such a process id would reach this test
				t.Error("a program runs whose supervisor is unknown")
			}
			p.Wait()
		case errors.Is(err, ErrLate):
			least.Store(least.Load() * 101 / 100)
			late.Add(1)
		default:
			t.Errorf("after %v: %v", span, err)
		}
		if pids := living(t, length); len(pids) > 0 {
			left.Add(1)
			t.Logf("after a start that had %v (%v) there live %v", span, err, pids)
		}
	}
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for n := next.Add(1); n <= starts; n = next.Add(1) {
				start(n)
			}
		})
	}
	all.Wait()
	t.Logf("%d starts: %d too late, %d begun; something lived after %d of them", starts, late.Load(), begun.Load(), left.Load())
	if left.Load() > 0 {
		t.Errorf("something lives after %d of %d starts", left.Load(), starts)
	}
	if late.Load() < starts/20 || begun.Load() < starts/20 {
		t.Errorf("%d late and %d begun are too few of either to show anything", late.Load(), begun.Load())
	}
}
