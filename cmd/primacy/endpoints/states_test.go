package endpoints

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
	"github.com/primacy-dev/primacy/pkg/election/metrics"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// recorder is a response that has deadlines, as a connection does.
type recorder struct{ *httptest.ResponseRecorder }

func (recorder) SetWriteDeadline(time.Time) error { return nil }

// played is a member in a bubble, with its endpoints.
type played struct {
	manager *election.Manager
	store   *memory.Store
	routes  http.Handler
	hub     *hub
	// held holds the member's goroutine up at its next log line about the preferred revision.
	held   atomic.Bool
	prefer chan election.Preference
	stop   context.CancelFunc
	joined sync.WaitGroup
}

func (p *played) Watch(ctx context.Context, deliver func(election.Preference)) error {
	for {
		select {
		case v := <-p.prefer:
			deliver(v)
		case <-ctx.Done():
			return nil
		}
	}
}

// play starts a member of one election, whose work stops as long after it was told to as stops says.
func play(t *testing.T, realm *memory.Realm, c clocktest.Bubble, name string, stops time.Duration) *played {
	t.Helper()
	p := &played{store: realm.Store(), prefer: make(chan election.Preference, 4)}
	p.prefer <- record.Prefer("r")
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(io.Discard), zap.InfoLevel)
	log := zap.New(core, zap.Hooks(func(e zapcore.Entry) error {
		if e.Message == "preferred revision" && p.held.Swap(false) {
			time.Sleep(40 * time.Second)
		}
		return nil
	}))
	var err error
	if p.manager, err = election.NewManager(election.Config{
		Group: "edge", Host: name, Member: election.Member{Revision: "r"}, Locks: p.store, Clock: c, Log: log, Preferences: p,
		Abort: func(error) {},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.manager.Add(election.Spec{Name: "a"}, election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
		<-ctx.Done()
		time.Sleep(stops)
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.Of(p.manager))
	s := &Server{hub: newHub(many), turns: connectionTurns(), cfg: Config{
		HTTP: config.HTTP{Address: "127.0.0.1:0", Access: config.AccessOpen}, Health: p.manager, Elections: p.manager,
	}}
	p.routes, p.hub = s.routes(registry), s.hub
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	transitions := p.manager.Watch(context.Background())
	p.joined.Go(func() { s.hub.run(p.manager.Identity, transitions) })
	p.joined.Go(func() {
		if err := p.manager.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *played) end() {
	p.stop()
	p.joined.Wait()
}

// get asks an endpoint. A stream is read for a second.
func (p *played) get(path string) *httptest.ResponseRecorder {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	w := httptest.NewRecorder()
	p.routes.ServeHTTP(recorder{w}, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:9090"+path, nil))
	return w
}

// after waits until virtual time has passed and everything due in it has happened.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// states bring a member into each state of the table. The other member leads, or follows.
var states = map[string]struct {
	stops time.Duration
	enter func(t *testing.T, p *played)
	// livez and readyz are the expected codes; every other endpoint answers with 200 in every state.
	livez, readyz int
	// says is a part of what /readyz?verbose or /livez?verbose says.
	says string
}{
	"leader": {enter: func(t *testing.T, p *played) {
		if !p.manager.Statuses()[0].IsLeader() {
			t.Fatal("it does not lead")
		}
	}, livez: 200, readyz: 200, says: "[+]session ok"},
	"stuck driver": {enter: func(_ *testing.T, p *played) {
		p.held.Store(true)
		p.prefer <- record.Prefer("other")
		after(17 * time.Second)
	}, livez: 503, readyz: 503, says: "[-]driver failed: it does not take its turns"},
	"work past its deadline": {stops: time.Minute, enter: func(_ *testing.T, p *played) {
		for _, op := range []memory.Op{memory.Put, memory.Get, memory.List, memory.Watch} {
			p.store.On(op, memory.Reject(lock.ErrUnknown))
		}
		p.store.CutWatches()
		after(20 * time.Second)
	}, livez: 503, readyz: 503, says: "[-]work failed: that of election a had to be dead "},
	"API server away": {enter: func(_ *testing.T, p *played) {
		for _, op := range []memory.Op{memory.Put, memory.Get, memory.List, memory.Watch} {
			p.store.On(op, memory.Reject(lock.ErrUnknown))
		}
		p.store.CutWatches()
		after(20 * time.Second)
	}, livez: 200, readyz: 503, says: "[-]session failed: "},
	"draining": {stops: 3 * time.Second, enter: func(_ *testing.T, p *played) {
		p.stop()
		after(time.Second)
	}, livez: 200, readyz: 503, says: "[-]running failed: this member leaves"},
}

// TestStates checks what each endpoint answers in each state of a member.
func TestStates(t *testing.T) {
	paths := []string{"/livez", "/readyz", "/metrics", "/api/v1/elections", "/api/v1/events", "/debug/pprof/cmdline"}
	var table strings.Builder
	row := func(name string, p *played, livez, readyz int, says string) {
		fmt.Fprintf(&table, "%-24s", name)
		for _, path := range paths {
			want := map[string]int{"/livez": livez, "/readyz": readyz}[path]
			if want == 0 {
				want = http.StatusOK
			}
			got := p.get(path)
			fmt.Fprintf(&table, " %s %d", path, got.Code)
			if got.Code != want {
				t.Errorf("%s: %s answers with %d, want %d\n%s", name, path, got.Code, want, got.Body)
			}
		}
		table.WriteString("\n")
		if said := p.get("/livez?verbose").Body.String() + p.get("/readyz?verbose").Body.String(); !strings.Contains(said, says) {
			t.Errorf("%s: it says\n%swant %q", name, said, says)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(states)) {
		synctest.Test(t, func(t *testing.T) {
			state, c := states[name], clocktest.Bubble{}
			realm := memory.New(c)
			leader := play(t, realm, c, "m1", state.stops)
			defer leader.end()
			after(30 * time.Second)
			follower := play(t, realm, c, "m2", 0)
			defer follower.end()
			after(30 * time.Second)
			if name == "leader" {
				row("follower", follower, 200, 200, "[+]session ok\nreadyz check passed")
			}
			state.enter(t, leader)
			row(name, leader, state.livez, state.readyz, state.says)
			leader.store.Heal()
		})
	}
	t.Logf("\n%s", &table)
}
