package primacytest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/fence"
	"github.com/primacy-dev/primacy/pkg/election/primacytest"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// journal is work that notes when it begins and ends.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) note(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) of(name string) election.Runner {
	return election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
		j.note(name + " works")
		<-ctx.Done()
		stop, _ := election.StopOf(ctx)
		j.note(name + " stops")
		if stop.Reason == "" {
			return errors.New("stopped for no reason")
		}
		return nil
	})
}

func TestTransitions(t *testing.T) {
	var j journal
	spec := election.Spec{Name: "sync"}
	primacytest.Run(t, func(t *testing.T, g *primacytest.Group) {
		a, b := g.Join("a", spec, j.of("a")), g.Join("b", spec, j.of("b"))
		g.Lead("sync", a)
		g.Lead("sync", b)
		g.Lead("sync", a)
		g.Steal("sync")
		if a.Status("sync").IsLeader() {
			t.Error("a leads on after its lock was stolen")
		}
		g.Lead("sync", a)
		mend := a.Cut()
		g.Until(b.Status("sync").IsLeader, "b takes over from a, which is cut off")
		mend()
		b.Leave()
		g.Until(a.Status("sync").IsLeader, "a comes back")
	})
	want := "a works, a stops, b works, b stops, a works, a stops, a works, a stops, b works, b stops, a works, a stops"
	got := strings.Join(j.lines, ", ")
	got = strings.TrimPrefix(got, "b works, b stops, ") // whoever is first
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestKill is the test of the package's doc: a member dies, and another one takes over, not before its session has lapsed.
func TestKill(t *testing.T) {
	var terms atomic.Int32
	work := election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
		terms.Add(1)
		<-ctx.Done()
		return nil
	})
	primacytest.Run(t, func(t *testing.T, g *primacytest.Group) {
		a := g.Join("a", election.Spec{Name: "sync"}, work)
		b := g.Join("b", election.Spec{Name: "sync"}, work)
		g.Lead("sync", a)
		g.Lead("sync", b)
		before, died := terms.Load(), time.Now()
		b.Kill()
		if b.Status("sync").IsLeader() {
			t.Error("a dead member leads")
		}
		g.Until(a.Status("sync").IsLeader, "a takes over")
		if waited := time.Since(died); terms.Load() != before+1 || waited < 10*time.Second || waited > 20*time.Second {
			t.Errorf("%d terms more, after %v", terms.Load()-before, waited)
		}
	})
}

// always prefers one revision.
type always struct{ election.Preference }

func (a always) Watch(ctx context.Context, deliver func(election.Preference)) error {
	deliver(a.Preference)
	<-ctx.Done()
	return nil
}

func TestJoinAs(t *testing.T) {
	var j journal
	spec := election.Spec{Name: "sync"}
	primacytest.Run(t, func(t *testing.T, g *primacytest.Group) {
		canary := always{record.Prefer("canary")}
		a := g.JoinAs("a", primacytest.Options{Revision: "stable", Preferences: canary}, spec, j.of("a"))
		g.Until(a.Status("sync").IsLeader, "a leads while it is alone")
		b := g.JoinAs("b", primacytest.Options{Revision: "canary", Weight: 1, Preferences: canary}, spec, j.of("b"))
		g.Until(b.Status("sync").IsLeader, "b leads, whose revision is preferred")
		c := g.JoinAs("c", primacytest.Options{Revision: "canary", Weight: 2, Preferences: canary}, spec, j.of("c"))
		b.Leave()
		g.Until(c.Status("sync").IsLeader, "c leads")
	})
}

func TestStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := primacytest.NewStage("sync")
		gate, err := fence.New(s.Status())
		if err != nil {
			t.Fatal(err)
		}
		sent := 0
		writes := gate.RoundTripper(roundTrip(func() { sent++ }))
		write := func() error {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://127.0.0.1/x", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := writes.RoundTrip(req)
			if err == nil {
				_ = resp.Body.Close()
			}
			return err
		}
		transitions := s.Status().Watch(t.Context())
		for _, tt := range []struct {
			what   string
			do     func()
			passes bool
		}{
			{"at first", func() {}, false},
			{"in a term", func() { s.Lead(10 * time.Second) }, true},
			{"before its end", func() { time.Sleep(9 * time.Second) }, true},
			{"renewed", func() { s.Renew(10 * time.Second); time.Sleep(9 * time.Second) }, true},
			{"after its end", func() { time.Sleep(2 * time.Second) }, false},
			{"in the next term", func() { s.Lead(10 * time.Second) }, true},
			{"stopped", func() { s.Stop("handover") }, false},
			{"beside another", func() { s.Follow("b_00000001") }, false},
		} {
			tt.do()
			if err := write(); (err == nil) != tt.passes || err != nil && !errors.Is(err, fence.ErrNotLeading) {
				t.Errorf("%s a write gets %v", tt.what, err)
			}
		}
		if sent != 4 || s.Status().Token() != 2 || s.Status().Leader().Identity != "b_00000001" || len(transitions) != 4 {
			t.Errorf("%d sent, token %d, leader %v, %d transitions", sent, s.Status().Token(), s.Status().Leader(), len(transitions))
		}
	})
}

type roundTrip func()

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) {
	f()
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
}

// A stage plays an election to code that asks whether it leads.
func ExampleStage() {
	s := primacytest.NewStage("sync")
	fmt.Println(s.Status().IsLeader())
	s.Lead(time.Minute)
	fmt.Println(s.Status().IsLeader(), s.Status().Token())
	s.Stop("handover")
	fmt.Println(s.Status().IsLeader())
	// Output:
	// false
	// true 1
	// false
}
