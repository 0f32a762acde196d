package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/metrics"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// world is a realm with members, in a bubble.
type world struct {
	t     *testing.T
	clock clocktest.Bubble
	realm *memory.Realm
}

type player struct {
	*election.Manager
	t        *testing.T
	store    *memory.Store
	registry *prometheus.Registry
	quit     context.CancelFunc
	done     chan error
}

// always prefers one revision.
type always struct{ record.Preferred }

func (a always) Watch(ctx context.Context, deliver func(election.Preference)) error {
	deliver(a.Preferred)
	<-ctx.Done()
	return nil
}

// parented is a parent process that does nothing, so that its member's session accepts its proofs.
type parented struct{ session chan string }

func (p parented) Expect(session, _ string) error {
	select {
	case p.session <- session:
	default:
	}
	return nil
}
func (parented) Over(string) error       { return nil }
func (parented) Broken() <-chan struct{} { return nil }

// join starts a member of election e with work that takes 300 ms to stop.
func (w *world) join(host, revision, prefers string, change func(*election.Config)) *player {
	w.t.Helper()
	p := &player{t: w.t, store: w.realm.Store(), registry: prometheus.NewPedanticRegistry(), done: make(chan error, 1)}
	cfg := election.Config{
		Group: "edge", Host: host, Member: election.Member{Revision: revision}, Locks: p.store, Clock: w.clock, Abort: func(error) {},
	}
	if prefers != "" {
		cfg.Preferences = always{record.Prefer(prefers)}
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if p.Manager, err = election.NewManager(cfg); err != nil {
		w.t.Fatal(err)
	}
	runner := election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
		<-ctx.Done()
		time.Sleep(300 * time.Millisecond)
		return nil
	})
	if _, err = p.Add(election.Spec{Name: "e", Bootstrap: election.BootstrapImmediate}, runner); err != nil {
		w.t.Fatal(err)
	}
	p.registry.MustRegister(metrics.Of(p.Manager))
	ctx, cancel := context.WithCancel(context.Background())
	p.quit = cancel
	go func() { p.done <- p.Run(ctx) }()
	w.after(10 * time.Second)
	return p
}

func (w *world) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (p *player) leave() {
	p.quit()
	if err := <-p.done; err != nil {
		p.t.Error(err)
	}
	synctest.Wait()
}

// cutOff makes all requests of the member fail.
func (p *player) cutOff() {
	for _, op := range []memory.Op{memory.Put, memory.Get, memory.List, memory.Watch} {
		p.store.On(op, memory.Reject(lock.ErrUnknown))
	}
}

// value returns the value of a series, or the number of observations of a histogram; NaN without the series. Labels are
// written as k=v.
func (p *player) value(name string, labels ...string) float64 {
	p.t.Helper()
	m := p.series(name, labels...)
	switch {
	case m == nil:
		return math.NaN()
	case m.Histogram != nil:
		return float64(m.GetHistogram().GetSampleCount())
	}
	return m.GetGauge().GetValue() + m.GetCounter().GetValue()
}

func (p *player) series(name string, labels ...string) *dto.Metric {
	p.t.Helper()
	families, err := p.registry.Gather()
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.Metric {
			var has []string
			for _, l := range m.Label {
				has = append(has, l.GetName()+"="+l.GetValue())
			}
			if !slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(has, l) }) {
				return m
			}
		}
	}
	return nil
}

// is checks a series.
func (p *player) is(want float64, name string, labels ...string) {
	p.t.Helper()
	if got := p.value(name, labels...); got != want && !(math.IsNaN(want) && math.IsNaN(got)) {
		p.t.Errorf("%s%v is %g, want %g", name, labels, got, want)
	}
}

// mean checks the mean of a histogram, in seconds.
func (p *player) mean(least, most float64, name string, labels ...string) {
	p.t.Helper()
	h := p.series(name, labels...).GetHistogram()
	mean := h.GetSampleSum() / float64(h.GetSampleCount())
	if !(mean >= least && mean <= most) {
		p.t.Errorf("%s%v: mean %g of %d, want %g to %g", name, labels, mean, h.GetSampleCount(), least, most)
	}
}

func inWorld(t *testing.T, f func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		clock := clocktest.Bubble{}
		f(&world{t, clock, memory.New(clock)})
	})
}

// TestPlannedMove checks that a handover is counted by the successor, and the stop of the work by the member that stops it.
func TestPlannedMove(t *testing.T) {
	inWorld(t, func(w *world) {
		a := w.join("a", "stable", "", nil)
		b := w.join("b", "stable", "", nil)
		a.is(1, "primacy_transitions_total", "role=leading", "reason=lock taken")
		b.is(math.NaN(), "primacy_transitions_total", "role=leading", "reason=lock taken")
		a.is(1, "leader_election_master_status", "name=e")
		b.is(0, "leader_election_master_status", "name=e")
		b.is(2, "primacy_members", "revision=stable")
		a.is(0, "primacy_handover_seconds") // nobody had led before
		b.is(0, "primacy_handover_seconds")
		a.is(0, "primacy_stop_seconds")
		b.is(0, "primacy_sessions_ended_total", "how=left")
		a.leave()
		w.after(time.Second)
		a.is(1, "primacy_transitions_total", "role=draining", "reason=member is leaving")
		a.is(1, "primacy_stop_seconds")
		a.mean(0.3, 0.31, "primacy_stop_seconds")
		b.is(1, "primacy_handover_seconds")
		b.is(0, "primacy_takeover_seconds")
		b.mean(0, 1, "primacy_handover_seconds")
		b.is(1, "primacy_sessions_ended_total", "how=left")
		b.is(1, "primacy_members", "revision=stable")
		b.is(1, "primacy_elections_leading")
		b.leave()
	})
}

// end makes a member leave that is cut off, and then another one.
func (w *world) end(cutOff, other *player) {
	cutOff.quit()
	w.after(time.Minute)
	cutOff.store.Heal()
	cutOff.leave()
	other.leave()
}

// TestLapse checks that a takeover counts from the last sign of life, and which elections nobody leads meanwhile.
func TestLapse(t *testing.T) {
	inWorld(t, func(w *world) {
		a := w.join("a", "stable", "", nil)
		b := w.join("b", "stable", "", nil)
		b.is(0, "primacy_elections_leaderless")
		a.cutOff()
		w.after(30 * time.Second)
		b.is(1, "primacy_takeover_seconds")
		b.is(0, "primacy_handover_seconds")
		b.mean(15, 20, "primacy_takeover_seconds")
		b.is(1, "primacy_sessions_ended_total", "how=lapsed")
		a.is(1, "primacy_transitions_total", "role=draining", "reason=not renewed in time")
		a.is(1, "primacy_stop_seconds")
		w.end(a, b)
	})
}

// TestProof checks that a proof is counted by its kind, and that a takeover counts from the death.
func TestProof(t *testing.T) {
	inWorld(t, func(w *world) {
		sessions := parented{make(chan string, 1)}
		a := w.join("a", "stable", "", func(c *election.Config) { c.Parent = sessions })
		b := w.join("b", "stable", "", nil)
		a.cutOff()
		w.after(4 * time.Second)
		death := election.Death{Proof: election.ProofParent, Identity: a.Identity(), By: "parent", How: "killed", At: time.Now().Add(-200 * time.Millisecond)}
		if err := election.Bury(context.Background(), b.store, <-sessions.session, death); err != nil {
			t.Fatal(err)
		}
		w.after(time.Second)
		b.is(1, "primacy_sessions_ended_total", "how=parent")
		b.is(0, "primacy_sessions_ended_total", "how=lapsed")
		b.is(1, "primacy_takeover_seconds")
		b.mean(0.2, 1, "primacy_takeover_seconds")
		w.end(a, b)
	})
}

// TestHijack checks that a stranger's write is counted, and the repair of what it left.
func TestHijack(t *testing.T) {
	inWorld(t, func(w *world) {
		a := w.join("a", "stable", "", nil)
		a.is(0, "primacy_hijacks_total", "reason=lock record corrupt")
		a.is(0, "primacy_repairs_total")
		e, err := a.store.Get(context.Background(), "e")
		if err != nil {
			t.Fatal(err)
		}
		broken := *e.Record
		broken.Mark = nil
		if _, err := a.store.Put(context.Background(), "e", broken, e.Version); err != nil {
			t.Fatal(err)
		}
		w.after(200 * time.Millisecond)
		a.is(1, "primacy_hijacks_total", "reason=lock record corrupt")
		w.after(30 * time.Second)
		a.is(1, "primacy_repairs_total")
		a.is(1, "primacy_elections_leading")
		a.leave()
	})
}

// TestPreferences checks the figures of preferences: who should lead, and whether all agree.
func TestPreferences(t *testing.T) {
	inWorld(t, func(w *world) {
		a := w.join("a", "old", "new", nil)
		a.is(1, "primacy_elections_not_preferred")
		a.is(1, "primacy_election_not_preferred", "election=e")
		a.is(0, "primacy_divided_preference")
		b := w.join("b", "new", "old", nil)
		a.is(1, "primacy_divided_preference")
		a.is(1, "primacy_members", "revision=new")
		a.is(1, "primacy_members", "revision=old")
		b.is(0, "primacy_elections_not_preferred")
		b.leave()
		w.after(time.Second)
		a.is(0, "primacy_divided_preference")
		c := w.join("c", "new", "new", nil)
		w.after(10 * time.Minute)
		c.is(1, "primacy_elections_leading")
		a.is(0, "primacy_elections_not_preferred")
		a.leave()
		c.leave()
	})
}

// TestBeats checks the latencies, and the time to the deadline.
func TestBeats(t *testing.T) {
	inWorld(t, func(w *world) {
		a := w.join("a", "stable", "", nil)
		beats, writes := a.value("primacy_beat_seconds"), a.value("primacy_write_seconds", "purpose=session")
		takes := a.value("primacy_write_seconds", "purpose=take")
		if !(beats > 0) || !(writes > 0) || takes != 1 {
			t.Errorf("%g beats, %g writes of the session, %g takes", beats, writes, takes)
		}
		a.store.On(memory.Put, func(ctx context.Context, _ memory.Call, op func() error) error {
			time.Sleep(40 * time.Millisecond)
			return op()
		})
		w.after(10 * time.Second)
		if is := a.value("primacy_beat_seconds"); !(is > beats) {
			t.Errorf("%g beats, %g before", is, beats)
		}
		h := a.series("primacy_beat_seconds").GetHistogram()
		if h.GetSampleSum() < 0.04 {
			t.Errorf("slow writes do not show in beats: %v", h)
		}
		if left := a.value("primacy_deadline_seconds"); !(left > 5 && left < 15) {
			t.Errorf("%g s to the deadline", left)
		}
		a.cutOff()
		w.after(5 * time.Second)
		if left := a.value("primacy_election_deadline_seconds"); !(left > 0 && left < 10) {
			t.Errorf("%g s to the deadline", left)
		}
		w.after(30 * time.Second)
		a.is(math.NaN(), "primacy_deadline_seconds")
		a.store.Heal()
		w.after(30 * time.Second)
		a.leave()
	})
}

// TestTwoInOneRegistry registers managers of two groups, and then two of one group with labels of their own.
func TestTwoInOneRegistry(t *testing.T) {
	manager := func(group string) *election.Manager {
		clock := clocktest.Bubble{}
		m, err := election.NewManager(election.Config{Group: group, Host: "m", Member: election.Member{Revision: "r"}, Locks: memory.New(clock).Store(), Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Add(election.Spec{Name: "same"}, nil); err != nil {
			t.Fatal(err)
		}
		return m
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics.Of(manager("edge")), metrics.Of(manager("core")))
	labelled := prometheus.NewPedanticRegistry()
	for _, cluster := range []string{"east", "west"} {
		labelled.MustRegister(metrics.With(manager("edge"), metrics.Options{Labels: prometheus.Labels{"cluster": cluster}}))
	}
	families, err := prometheus.Gatherers{registry, labelled}.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var of []string
	for _, f := range families {
		if f.GetName() == "primacy_election_leading" {
			for _, m := range f.Metric {
				of = append(of, fmt.Sprint(m.Label))
			}
		}
	}
	if len(of) != 4 {
		t.Errorf("%d series for 4 elections: %v", len(of), of)
	}
	if err := registry.Register(metrics.Of(manager("edge"))); err == nil {
		t.Error("two managers of a group without labels of their own are not told apart")
	}
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestRequests checks how requests are counted.
func TestRequests(t *testing.T) {
	requests := metrics.NewRequests()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(requests)
	p := &player{t: t, registry: registry}
	var status int
	var failure error
	over := requests.Over(trip(func(*http.Request) (*http.Response, error) {
		if failure != nil {
			return nil, failure
		}
		return &http.Response{StatusCode: status, Body: http.NoBody}, nil
	}))
	const leases = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
	for _, c := range []struct {
		method, path string
		status       int
		err          error
		verb, code   string
	}{
		{http.MethodGet, leases, 200, nil, "list", "200"},
		{http.MethodGet, leases + "?watch=true", 200, nil, "watch", "200"},
		{http.MethodGet, leases + "/a", 404, nil, "get", "404"},
		{http.MethodGet, "/api/v1/nodes/n", 200, nil, "get", "200"},
		{http.MethodGet, "/api/v1/nodes", 429, nil, "list", "429"},
		{http.MethodGet, "/cluster/x/api/v1/namespaces/ns/configmaps", 200, nil, "list", "200"},
		{http.MethodGet, "/version", 200, nil, "get", "200"},
		{http.MethodPut, leases + "/a", 409, nil, "update", "409"},
		{http.MethodPost, leases, 201, nil, "create", "201"},
		{http.MethodPatch, leases + "/a", 200, nil, "patch", "200"},
		{http.MethodDelete, leases + "/a", 0, errors.New("refused"), "delete", "error"},
		{http.MethodPut, leases + "/a", 0, fmt.Errorf("put: %w", context.Canceled), "update", "canceled"},
		{http.MethodPut, leases + "/a", 999, nil, "update", "other"},
		{"FROB", leases + "/a", 200, nil, "other", "200"},
	} {
		path, query, _ := strings.Cut(c.path, "?")
		status, failure = c.status, c.err
		before := p.value("primacy_requests_total", "verb="+c.verb, "code="+c.code, "priority=none")
		if math.IsNaN(before) {
			before = 0
		}
		r := &http.Request{Method: c.method, URL: &url.URL{Path: path, RawQuery: query}}
		if answer, err := over.RoundTrip(r); err == nil {
			_ = answer.Body.Close()
		}
		p.is(before+1, "primacy_requests_total", "verb="+c.verb, "code="+c.code, "priority=none")
	}
}

// TestPriorities checks that a store learns how urgent a request is.
func TestPriorities(t *testing.T) {
	inWorld(t, func(w *world) {
		var mu sync.Mutex
		seen := map[election.Priority]bool{}
		a := w.join("a", "stable", "", func(c *election.Config) {
			c.Locks.(*memory.Store).On(memory.Put, func(ctx context.Context, _ memory.Call, op func() error) error {
				mu.Lock()
				seen[election.PriorityOf(ctx)] = true
				mu.Unlock()
				return op()
			})
		})
		if _, err := a.Add(election.Spec{Name: "own", Renewal: record.RenewalRecord, Bootstrap: election.BootstrapImmediate}, nil); err != nil {
			t.Fatal(err)
		}
		w.after(20 * time.Second)
		mu.Lock()
		for _, p := range []election.Priority{election.PrioritySession, election.PriorityRenewal, election.PriorityLock} {
			if !seen[p] {
				t.Errorf("no write had the priority %s", p)
			}
		}
		if seen[election.PriorityNone] {
			t.Error("a write had no priority")
		}
		mu.Unlock()
		a.leave()
	})
}
