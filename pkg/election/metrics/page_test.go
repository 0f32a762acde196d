package metrics_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"net/http"
	"net/http/httptest"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/metrics"
)

// page is what a scrape of the registry gets.
func page(t testing.TB, registry *prometheus.Registry) []byte {
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.Code != http.StatusOK {
		t.Fatalf("%d: %v\n%s", answer.Code, err, body)
	}
	return body
}

// TestPageIsWellFormed reads the page with the parser and the linter of promtool.
func TestPageIsWellFormed(t *testing.T) {
	inWorld(t, func(w *world) {
		a := w.join("a", "stable", "stable", nil)
		requests := metrics.NewRequests()
		over := requests.Over(trip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		}))
		answer, err := over.RoundTrip(httptest.NewRequest(http.MethodGet, "/version", nil))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		a.registry.MustRegister(requests)
		body := page(t, a.registry)
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"primacy_handover_seconds", "primacy_requests_total", "leader_election_master_status", "primacy_election_leading"} {
			if families[name] == nil {
				t.Errorf("the page has no %s", name)
			}
		}
		problems, err := promlint.New(bytes.NewReader(body)).Lint()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
		a.leave()
	})
}

// crowded is a registry with a member that leads n elections.
func crowded(t testing.TB, n int, series metrics.Series) (*prometheus.Registry, func()) {
	now := clock.Boottime()
	m, err := election.NewManager(election.Config{
		Group: "edge", Host: "m", Member: election.Member{Revision: "stable"}, Locks: memory.New(now).Store(), Clock: now, WritesPerSecond: 1e6,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := m.Add(election.Spec{Name: fmt.Sprintf("e%05d", i), Bootstrap: election.BootstrapImmediate}, nil); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	transitions := m.Watch(ctx)
	go func() { done <- m.Run(ctx) }()
	for led := false; !led; {
		select {
		case <-transitions:
		case <-clock.NewTimer(time.Second).C:
		}
		led = true
		for _, s := range m.Statuses() {
			_, renewed := s.SinceRenewal() // it is told just after the start of a term
			led = led && s.IsLeader() && renewed
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.With(m, metrics.Options{Series: series}))
	return registry, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// seriesOn counts the samples of a page.
func seriesOn(page []byte) (n int) {
	for line := range bytes.Lines(page) {
		if len(line) > 1 && line[0] != '#' {
			n++
		}
	}
	return n
}

// TestTotalsAreBounded checks that the series of totals do not depend on the number of elections.
func TestTotalsAreBounded(t *testing.T) {
	count := func(n int, series metrics.Series) int {
		registry, stop := crowded(t, n, series)
		defer stop()
		return seriesOn(page(t, registry))
	}
	few, many := count(2, metrics.Totals), count(200, metrics.Totals)
	if few != many || many > 500 {
		t.Errorf("%d series for 2 elections, %d for 200", few, many)
	}
	if each := count(200, metrics.PerElection); each != many+200*10 {
		t.Errorf("%d series for 200 elections, %d of them totals", each, many)
	}
}

// BenchmarkScrape is a scrape of a member that leads 10,000 elections.
func BenchmarkScrape(b *testing.B) {
	for name, series := range map[string]metrics.Series{"each": metrics.PerElection, "totals": metrics.Totals} {
		b.Run(name, func(b *testing.B) {
			registry, stop := crowded(b, 10000, series)
			defer stop()
			var body []byte
			for b.Loop() {
				body = page(b, registry)
			}
			b.ReportMetric(float64(seriesOn(body)), "series")
			b.ReportMetric(float64(len(body)), "bytes")
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/scrape")
		})
	}
}
