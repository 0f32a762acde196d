package metrics

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/primacy-dev/primacy/pkg/election"
)

// Requests counts the requests to an API server, by verb, code and priority.
//
//	requests := metrics.NewRequests()
//	config.Wrap(requests.Over) // of a rest.Config
//	registry.MustRegister(requests)
type Requests struct{ total *prometheus.CounterVec }

var _ prometheus.Collector = (*Requests)(nil)

// NewRequests makes a counter that has counted nothing.
func NewRequests() *Requests {
	return &Requests{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "primacy_requests_total",
		Help: "Requests to the API server, by verb, by code (error: no answer came; canceled: this member gave the request up), and by priority: session, renewal, lock, or none for requests that are not about sessions and locks, and for watches.",
	}, []string{"verb", "code", "priority"})}
}

// Describe implements prometheus.Collector.
func (r *Requests) Describe(to chan<- *prometheus.Desc) { r.total.Describe(to) }

// Collect implements prometheus.Collector.
func (r *Requests) Collect(to chan<- prometheus.Metric) { r.total.Collect(to) }

// Over returns a transport that counts what goes through the given one.
func (r *Requests) Over(rt http.RoundTripper) http.RoundTripper { return &counted{rt, r} }

type counted struct {
	http.RoundTripper
	requests *Requests
}

// RoundTrip implements http.RoundTripper.
func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.RoundTripper.RoundTrip(r)
	c.requests.total.WithLabelValues(verb(r), code(answer, err), string(election.PriorityOf(r.Context()))).Inc()
	return answer, err
}

// WrappedRoundTripper is the transport beneath, for client-go.
func (c *counted) WrappedRoundTripper() http.RoundTripper { return c.RoundTripper }

func code(answer *http.Response, err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled"
	case err != nil:
		return "error"
	case answer.StatusCode < 100 || answer.StatusCode > 599:
		return "other"
	}
	return strconv.Itoa(answer.StatusCode)
}

// verb is what Kubernetes calls the request.
func verb(r *http.Request) string {
	switch r.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	case http.MethodGet:
	default:
		return "other"
	}
	switch watch := r.URL.Query().Get("watch"); {
	case watch == "true" || watch == "1":
		return "watch"
	case ofCollection(r.URL.Path):
		return "list"
	}
	return "get"
}

// ofCollection says whether the path is that of all objects of a resource, in a namespace or in all.
func ofCollection(path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	at := slices.IndexFunc(parts, func(p string) bool { return p == "api" || p == "apis" })
	if at < 0 {
		return false
	}
	skip := 2 // api, version
	if parts[at] == "apis" {
		skip = 3
	}
	parts = parts[min(len(parts), at+skip):]
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	return len(parts) == 1
}
