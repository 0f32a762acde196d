//go:build linux

package probe

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// script makes a check that gives these answers, and the last one for ever.
func script(answers string) check {
	return func(context.Context) error {
		answer := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		if answer == '+' {
			return nil
		}
		return errors.New(string(answer))
	}
}

func TestThresholds(t *testing.T) {
	for _, tt := range []struct {
		failures, successes int
		answers             string
		want                []string
	}{
		{1, 1, "+-+", []string{"+", "-", "+"}},
		{1, 1, "abc+", []string{"a", "b", "c", "+"}},
		{3, 1, "a+bc+bcd+", []string{"a", "+", "d", "+"}},
		{3, 2, "++ab+abc+d++", []string{"+", "c", "d", "+"}},
		{2, 3, "++a+++", []string{"a", "+"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var got []string
			s := Spec{Period: time.Second, Timeout: time.Second, Failures: tt.failures, Successes: tt.successes}
			p := &Probe{s, newTurns(1), script(tt.answers)}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_ = p.Readiness(ctx, func(problem error) {
				if problem == nil {
					problem = errors.New("+")
				}
				got = append(got, problem.Error())
			})
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s, %d failures, %d successes: got %q, want %q", tt.answers, tt.failures, tt.successes, got, tt.want)
			}
		})
	}
}

// TestManyTakeTurns runs the probes of 10,000 elections. As many run at a time as there are turns, each gets its turn, and a
// long wait for it is no failure.
func TestManyTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const elections, takes, room = 10_000, time.Second, 4
		var mu sync.Mutex
		running, most, first := 0, 0, 0
		turns := newTurns(room)
		ctx, cancel := context.WithTimeout(t.Context(), elections*takes/room+time.Hour)
		defer cancel()
		var wg sync.WaitGroup
		for range elections {
			asked := false
			p := &Probe{Default, turns, func(ctx context.Context) error {
				mu.Lock()
				running++
				most = max(most, running)
				if !asked {
					asked = true
					first++
				}
				mu.Unlock()
				time.Sleep(takes)
				mu.Lock()
				running--
				mu.Unlock()
				return nil
			}}
			wg.Go(func() {
				_ = p.Readiness(ctx, func(problem error) {
					if problem != nil {
						t.Error(problem)
					}
				})
			})
		}
		wg.Wait()
		if most != room || first != elections {
			t.Errorf("%d ran at a time, want %d; %d of %d had their turn", most, room, first, elections)
		}
	})
}

// TestHungCheck checks that a check that hangs in the kernel fails again and again, until a runner that was ready is not.
func TestHungCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan struct{})
		end := sync.OnceFunc(func() { close(letGo) })
		defer end()
		n := 0
		p := &Probe{Default, newTurns(1), func(context.Context) error {
			if n++; n > 1 {
				<-letGo
			}
			return nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		reports := make(chan error, 1000)
		over := make(chan error, 1)
		began := time.Now()
		go func() { over <- p.Readiness(ctx, func(problem error) { reports <- problem }) }()
		if err := await(t, reports); err != nil {
			t.Error(err)
		}
		err := await(t, reports)
		if want := "the probe hangs: no end of it 2s after its timeout of 5s"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if got, want := time.Since(began), Default.Period+Default.Timeout+hung+2*Default.Period; got != want {
			t.Errorf("it took %v, want %v", got, want)
		}
		cancel()
		end()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}

// TestStuck checks that a runner does not stay ready while all probes that have a turn hang.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1)
		p := &Probe{Spec{Period: time.Second, Timeout: time.Second, Failures: 1, Successes: 1}, turns, script("+")}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		reports := make(chan error, 1000)
		over := make(chan error, 1)
		go func() { over <- p.Readiness(ctx, func(problem error) { reports <- problem }) }()
		if err := await(t, reports); err != nil {
			t.Error(err)
		}
		turns.wait(ctx, nil) // somebody else's, who hangs
		began := time.Now()
		if err := await(t, reports); !errors.Is(err, errStuck) {
			t.Errorf("got %v", err)
		}
		if got := time.Since(began); got < stuckAfter || got > stuckAfter+time.Second {
			t.Errorf("it took %v, want %v", got, stuckAfter)
		}
		turns.end()
		if err := await(t, reports); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}

// await waits for the next report.
func await(t *testing.T, reports <-chan error) error {
	t.Helper()
	select {
	case problem := <-reports:
		return problem
	case <-clock.NewTimer(time.Hour).C:
		t.Fatal("no report")
		return nil
	}
}
