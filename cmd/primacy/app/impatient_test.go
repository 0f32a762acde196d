package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

// slowly is a log that takes a while for each line.
type slowly struct {
	each time.Duration

	mu    sync.Mutex
	lines []string
}

func (s *slowly) Write(line []byte) (int, error) {
	time.Sleep(s.each)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, string(line))
	return len(line), nil
}

func (*slowly) Sync() error { return nil }

// taken returns the lines that were taken so far.
func (s *slowly) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines
}

// expect checks what the log has taken: each line contains the text in its place.
func (s *slowly) expect(t *testing.T, texts ...string) {
	t.Helper()
	lines := s.taken()
	if len(lines) != len(texts) {
		t.Fatalf("%d lines, want %d; the last is %s", len(lines), len(texts), strings.Join(lines[max(0, len(lines)-1):], ""))
	}
	for n, text := range texts {
		if !strings.Contains(lines[n], text) {
			t.Errorf("line %d is %s, want %s", n, lines[n], text)
		}
	}
}

// logTo makes the log of a program that writes it to a log of a test.
func logTo(t *testing.T, to *slowly) *zap.Logger {
	t.Cleanup(klog.ClearLogger)
	return newLoggerTo(to, "info", "json")
}

// TestNobodyWaitsForTheLog checks that whoever logs waits neither for a slow log nor for one that hangs, and that the lines
// keep their order and their text.
func TestNobodyWaitsForTheLog(t *testing.T) {
	for _, each := range []time.Duration{0, 30 * time.Millisecond, 900 * time.Millisecond, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			to, began := &slowly{each: each}, time.Now()
			log := logTo(t, to)
			var want []string
			for n := range 300 {
				log.Info(fmt.Sprint("line ", n))
				want = append(want, fmt.Sprintf(`"msg":"line %d"`, n))
			}
			if took := time.Since(began); took != 0 {
				t.Errorf("with %v a line it took %v", each, took)
			}
			time.Sleep(301 * each)
			synctest.Wait()
			to.expect(t, want...)
		})
	}
}

// TestTheQueueOfTheLogIsBounded checks that a log that hangs costs no more memory than its queue has, and that it says how many lines
// are missing, in their place.
func TestTheQueueOfTheLogIsBounded(t *testing.T) {
	for name, tt := range map[string]struct{ size, queued int }{"short lines": {10, mostLines}, "long lines": {mostBytes / 10, 10}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				to := &slowly{each: time.Hour}
				log := logTo(t, to)
				log.Info("hangs")
				synctest.Wait() // it is not in the queue any more
				want := []string{"hangs"}
				for range tt.queued {
					log.Info(strings.Repeat("x", tt.size))
					want = append(want, "xxx")
				}
				for range 5 {
					log.Info("is dropped")
				}
				time.Sleep(time.Hour + time.Minute)
				log.Info("is dropped, since the queue is not empty")
				time.Sleep(time.Duration(tt.queued+1) * time.Hour)
				log.Info("is taken")
				time.Sleep(2 * time.Hour)
				to.expect(t, append(want, `"lines":6`, "is taken")...)
			})
		})
	}
}

// TestTheEndAwaitsTheLog checks that Sync, which ends most processes, and the levels that end or may end one wait for a slow log.
// They do not wait for long for one that hangs.
func TestTheEndAwaitsTheLog(t *testing.T) {
	for name, end := range map[string]func(*zap.Logger) error{
		"sync":   func(l *zap.Logger) error { l.Info("last"); return l.Sync() },
		"klog":   func(l *zap.Logger) error { l.Info("last"); klog.Flush(); return nil },
		"dpanic": func(l *zap.Logger) error { l.DPanic("last"); return nil },
		"panic": func(l *zap.Logger) error {
			defer func() { _ = recover() }()
			l.Panic("last")
			return nil
		},
		"fatal": func(l *zap.Logger) error {
			defer func() { _ = recover() }()
			l.WithOptions(zap.WithFatalHook(zapcore.WriteThenPanic)).Fatal("last")
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				to, began := &slowly{each: 100 * time.Millisecond}, time.Now()
				log := logTo(t, to)
				log.Info("first")
				log.Info("second")
				if err := end(log); err != nil {
					t.Error(err)
				}
				to.expect(t, "first", "second", "last")
				if took := time.Since(began); took != 300*time.Millisecond {
					t.Errorf("it took %v", took)
				}
				to.each, began = time.Hour, time.Now()
				if err := end(log); (err != nil) != (name == "sync") {
					t.Error(err)
				}
				if took := time.Since(began); took != logPatience {
					t.Errorf("a log that hangs was awaited for %v", took)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// saysWhenItEnds is contained work that logs a line when it has ended, as programs and plugins do.
type saysWhenItEnds struct{ log *zap.Logger }

func (saysWhenItEnds) Contained() bool { return true }

func (s saysWhenItEnds) Run(ctx context.Context, _ election.Term) error {
	s.log.Info("program started")
	<-ctx.Done()
	s.log.Info("program and all that it started have ended")
	return nil
}

// TestASlowLogCostsNoTerm checks that a member with many elections leads all of them though its log is slow, that it keeps its session and its
// terms, and that it stops in time.
func TestASlowLogCostsNoTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := logTo(t, &slowly{each: 100 * time.Millisecond})
		m, err := election.NewManager(election.Config{
			Group: "edge", Host: "m", Member: election.Member{Revision: "1"}, Locks: memory.New(clocktest.Bubble{}).Store(), Clock: clocktest.Bubble{},
			Log: log, Abort: func(err error) { t.Errorf("the process ends: %v", err) },
		})
		if err != nil {
			t.Fatal(err)
		}
		var all []*election.Status
		for n := range 300 {
			s, err := m.Add(election.Spec{Name: fmt.Sprint("e", n)}, saysWhenItEnds{log})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- m.Run(ctx) }() // joined below
		time.Sleep(time.Minute)
		identity := m.Identity()
		time.Sleep(time.Minute)
		if m.Identity() != identity {
			t.Error("the member lost its session")
		}
		for n, s := range all {
			if !s.IsLeader() || s.Cycle() != 1 {
				t.Fatalf("election %d: leads: %t, terms: %d", n, s.IsLeader(), s.Cycle())
			}
		}
		began := time.Now()
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v to stop", took)
		}
		time.Sleep(time.Hour) // the log takes what is queued
	})
}
