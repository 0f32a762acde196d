package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type source []*runners.Figures

func (s source) Figures() []*runners.Figures { return s }

// scrape returns what a registry shows, one metric a line, without its prefix.
func scrape(t *testing.T, r prometheus.Gatherer) string {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range families {
		for _, m := range f.Metric {
			labels := map[string]string{}
			for _, l := range m.Label {
				labels[l.GetName()] = l.GetValue()
			}
			name := strings.TrimPrefix(f.GetName(), "primacy_runner_")
			fmt.Fprintf(&b, "%s{%s/%s:%s", name, labels["election"], labels["runner"], labels["kind"])
			if reason := labels["reason"]; reason != "" {
				fmt.Fprintf(&b, ",%s", reason)
			}
			fmt.Fprintf(&b, "} %g\n", m.GetGauge().GetValue()+m.GetCounter().GetValue())
		}
	}
	return b.String()
}

// TestTrueAtEveryMoment scrapes two runners of one term. One works and takes its time to stop; the
// other ends in each possible way, and waits longer each time.
func TestTrueAtEveryMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := clocktest.Bubble{}
		figures := runners.NewFigures("e")
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(metrics.Of(source{figures, runners.NewFigures("without")}))
		works := runners.Child{Name: "works", Kind: "exec", Runner: election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
			<-ctx.Done()
			time.Sleep(300 * time.Millisecond)
			return nil
		})}
		n := 0
		ends := runners.Child{Name: "ends", Kind: "func", Runner: election.RunnerFunc(func(context.Context, election.Term) error {
			time.Sleep(time.Second)
			switch n++; n {
			case 1:
				return nil
			case 2:
				return errors.New("bad luck")
			case 3:
				panic("ouch")
			}
			return runners.ErrDeadline
		})}
		runner := runners.Supervise([]runners.Child{works, ends},
			runners.Supervision{Clock: clock, Random: func() float64 { return 0.5 }, Figures: figures})
		has := func(want ...string) {
			t.Helper()
			synctest.Wait()
			got := scrape(t, registry)
			for _, w := range want {
				if unwanted, not := strings.CutPrefix(w, "!"); not == strings.Contains(got, unwanted) {
					t.Errorf("want %q in\n%s", w, got)
				}
			}
		}
		has("running{e/works:exec} 0\n", "starts_total{e/works:exec} 0\n", "failures_total{e/ends:func,panic} 0\n", "!last_stop", "!without")
		for term := range 2 {
			n = 0
			began := time.Now()
			ctx, cancel := context.WithCancelCause(context.Background())
			done := make(chan error)
			go func() {
				term, _ := election.NewTerm(election.Term{Election: "e"}, clock.Now().Add(time.Hour))
				done <- runner.Run(ctx, term)
			}()
			has("running{e/works:exec} 1\n", "running{e/ends:func} 1\n", "restart_wait_seconds{e/ends:func} 0\n")
			time.Sleep(1200 * time.Millisecond)
			has("running{e/works:exec} 1\n", "running{e/ends:func} 0\n", "restart_wait_seconds{e/ends:func} 0.5\n",
				fmt.Sprintf("failures_total{e/ends:func,returned} %d\n", 1+term))
			time.Sleep(1500 * time.Millisecond) // the second ended at 2.5 s
			has("restart_wait_seconds{e/ends:func} 1\n", fmt.Sprintf("failures_total{e/ends:func,error} %d\n", 1+term))
			time.Sleep(2 * time.Second) // the third ended at 4.5 s
			has("restart_wait_seconds{e/ends:func} 2\n", fmt.Sprintf("failures_total{e/ends:func,panic} %d\n", 1+term))
			time.Sleep(3 * time.Second) // the fourth at 7.5 s
			has(fmt.Sprintf("failures_total{e/ends:func,deadline} %d\n", 1+term), "restart_wait_seconds{e/ends:func} 2\n",
				fmt.Sprintf("starts_total{e/ends:func} %d\n", 4*(1+term)), fmt.Sprintf("restarts_total{e/ends:func} %d\n", 3*(1+term)), fmt.Sprintf("starts_total{e/works:exec} %d\n", 1+term))
			cancel(&election.Stop{Reason: "test", By: clock.Now().Add(10 * time.Second)})
			<-done
			has("running{e/works:exec} 0\n", "last_stop_seconds{e/works:exec} 0.3\n", "failures_total{e/works:exec,returned} 0\n",
				"last_stop_seconds{e/ends:func}", "restart_wait_seconds{e/ends:func} 0\n")
			if took := time.Since(began); took < 8*time.Second {
				t.Errorf("it took %v", took)
			}
		}
	})
}

// TestRunsOfOneThatAlwaysRuns checks that for work that always runs, the metrics count its runs and
// not its terms.
func TestRunsOfOneThatAlwaysRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clocktest.Bubble{}
		figures := runners.NewFigures("e")
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(metrics.Of(source{figures}))
		always := runners.Always("warm", election.AlwaysFunc(func(ctx context.Context, _ *election.Terms) error {
			select {
			case <-ctx.Done():
			case <-clock.NewTimer(time.Minute).C:
			}
			return nil
		}), runners.Supervision{Clock: now, Random: func() float64 { return 0.5 }})
		runner := runners.Supervise([]runners.Child{{Name: "warm", Kind: "func", Runner: always}}, runners.Supervision{Clock: now, Figures: figures})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- runner.(election.Background).Background(ctx) }()
		time.Sleep(time.Minute + 200*time.Millisecond)
		synctest.Wait()
		got := scrape(t, registry)
		for _, want := range []string{"starts_total{e/warm:func} 1\n", "failures_total{e/warm:func,returned} 1\n", "running{e/warm:func} 0\n", "restart_wait_seconds{e/warm:func} 0.5\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("want %q in\n%s", want, got)
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := scrape(t, registry); !strings.Contains(got, "starts_total{e/warm:func} 2\n") || !strings.Contains(got, "running{e/warm:func} 1\n") {
			t.Error(got)
		}
		cancel()
		<-done
	})
}
