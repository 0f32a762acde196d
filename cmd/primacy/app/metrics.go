package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/revisions"
)

// serveMetrics serves /metrics at a loopback address until ctx ends. It returns a function
// that waits for its end.
func serveMetrics(ctx context.Context, at netip.AddrPort, collectors []prometheus.Collector, log *zap.Logger) (wait func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at.String())
	if err != nil {
		return nil, fmt.Errorf("metrics: %w (metrics.address says where they are served)", err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors...)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // does not wait for a scrape
	served := make(chan struct{})
	go func() { // joined by wait
		defer close(served)
		defer stop()
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics are no longer served", zap.Error(err))
		}
	}()
	log.Info("serving metrics", zap.String("url", "http://"+listener.Addr().String()+"/metrics"))
	return func() { <-served }, nil
}

// freshness is a metric: the age of a source's last value.
func freshness(source string, of func() revisions.Freshness) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "primacy_preferred_revision_age_seconds",
		Help:        "For how long the last value of a source of preferred revisions has been kept because the source cannot be read, or says what cannot be used; 0 while it is followed.",
		ConstLabels: prometheus.Labels{"source": source},
	}, func() float64 { return of().Age.Seconds() })
}
