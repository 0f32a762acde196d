package fence_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/internal/clocktest"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/devcluster"
	"github.com/primacy-dev/primacy/pkg/election/lock/memory"
)

func TestMain(m *testing.M) { devcluster.Main(m) }

// member is a running manager in virtual time.
type member struct {
	*election.Manager
	clock  clocktest.Bubble
	store  *memory.Store
	status []*election.Status
	stop   context.CancelFunc
	done   chan error
}

// join starts a member that takes part in the elections, without runners.
func join(t *testing.T, realm *memory.Realm, clock clocktest.Bubble, name string, log *zap.Logger, elections ...string) *member {
	t.Helper()
	m := &member{clock: clock, store: realm.Store(), done: make(chan error, 1)}
	var err error
	m.Manager, err = election.NewManager(election.Config{
		Group: "edge", Host: name, Member: election.Member{Revision: "stable"}, Locks: m.store, Clock: clock, Log: log,
		Abort: func(err error) { t.Error(err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range elections {
		s, err := m.Add(election.Spec{Name: e, Bootstrap: machine.BootstrapImmediate}, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.status = append(m.status, s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.stop = cancel
	go func() { m.done <- m.Run(ctx) }()
	return m
}

func (m *member) leave(t *testing.T) {
	t.Helper()
	m.stop()
	if err := <-m.done; err != nil {
		t.Error(err)
	}
}

// leading runs a test in virtual time in which m1 leads the elections; the log may be nil.
func leading(t *testing.T, log *zap.Logger, test func(t *testing.T, m1 *member, realm *memory.Realm), elections ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		clock := clocktest.Bubble{}
		realm := memory.New(clock)
		m1 := join(t, realm, clock, "m1", log, elections...)
		after(10 * time.Second)
		for _, s := range m1.status {
			if !s.IsLeader() {
				t.Fatalf("%s is not led", s.Election())
			}
		}
		test(t, m1, realm)
		m1.leave(t)
	})
}

// after waits until virtual time has passed and everything due in it has happened.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func gateOf(t *testing.T, statuses ...*election.Status) *fence.Gate {
	t.Helper()
	g, err := fence.New(statuses...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// closed makes a gate that lets nothing pass.
func closed() *fence.Gate { return fence.For(election.Term{Election: "shut"}) }

// wire is a transport that notes the requests that it sends.
type wire struct {
	mu     sync.Mutex
	sent   []string
	answer func(*http.Request) (*http.Response, error) // nil for an empty 200
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.sent = append(w.sent, req.Method+" "+req.URL.Path)
	w.mu.Unlock()
	if w.answer != nil {
		return w.answer(req)
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
}

func (w *wire) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sent)
}

// hang answers nothing until the request's context ends.
func hang(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// write sends a write through the gate and reads the answer to its end.
func write(ctx context.Context, g *fence.Gate, next http.RoundTripper) error {
	client := &http.Client{Transport: g.RoundTripper(next)}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://cluster/api/v1/namespaces/x/configmaps", strings.NewReader("{}"))
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return err
}
