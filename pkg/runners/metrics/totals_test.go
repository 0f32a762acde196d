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

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/runners"
	"github.com/primacy-dev/primacy/pkg/runners/metrics"
)

// counted is a source with figures of elections that are gone.
type counted struct {
	source
	earlier []runners.Figure
}

func (c counted) Earlier() []runners.Figure { return c.earlier }

// TestSumsByKind checks the totals of two elections and of what is gone.
func TestSumsByKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clocktest.Bubble{}
		var figures source
		for _, e := range []string{"a", "b"} {
			of := runners.NewFigures(e)
			figures = append(figures, of)
			fails := runners.Child{Name: "fails", Kind: "exec", Runner: election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
				return errors.New("bad luck")
			})}
			works := runners.Child{Name: "works", Kind: "func", Runner: election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
				<-ctx.Done()
				return nil
			})}
			runner := runners.Supervise([]runners.Child{fails, works}, runners.Supervision{Clock: now, Random: func() float64 { return 0.5 }, Figures: of})
			ctx, cancel := context.WithCancelCause(context.Background())
			done := make(chan error)
			go func() {
				term, _ := election.NewTerm(election.Term{Election: e}, now.Now().Add(time.Hour))
				done <- runner.Run(ctx, term)
			}()
			defer func() {
				cancel(&election.Stop{Reason: "test", By: now.Now().Add(10 * time.Second)})
				<-done
			}()
		}
		time.Sleep(700 * time.Millisecond) // the first wait is half a second, the second a whole one
		synctest.Wait()
		registry := prometheus.NewPedanticRegistry()
		gone := runners.Figure{Kind: "exec", Starts: 100, Restarts: 50, Failures: map[runners.Failure]int{runners.FailurePanic: 7}}
		registry.MustRegister(metrics.Totals(counted{figures, []runners.Figure{gone}}))
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, f := range families {
			for _, m := range f.Metric {
				fmt.Fprint(&b, strings.TrimPrefix(f.GetName(), "primacy_runners_"))
				for _, l := range m.Label {
					fmt.Fprint(&b, " ", l.GetValue())
				}
				fmt.Fprintf(&b, " %g\n", m.GetGauge().GetValue()+m.GetCounter().GetValue())
			}
		}
		for _, want := range []string{
			"running exec 0\n", "running func 2\n", "waiting exec 2\n", "waiting func 0\n", "starts_total exec 104\n", "starts_total func 2\n",
			"restarts_total exec 52\n", "failures_total exec error 4\n", "failures_total exec panic 7\n",
		} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("want %q in\n%s", want, &b)
			}
		}
	})
}
