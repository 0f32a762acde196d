package app

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"go.yaml.in/yaml/v3"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// lagging is a manager of which a test sees the lags.
type lagging chan string

func (l lagging) SetLag(why string)         { l <- why }
func (lagging) Apply(election.Change) error { return errors.New("nothing is applied here") }
func (lagging) Settled() <-chan struct{}    { return nil }

// TestReloadThatHangs checks that the log and the lag say so while a reload hangs, and that the lag is right again after that.
func TestReloadThatHangs(t *testing.T) {
	p := changedPair(t)
	disk := make(chan struct{})
	a := add([]Option{Kind("probed", probed(func(context.Context, *yaml.Node) error {
		<-disk
		return errors.New("the disk had no such file")
	}))})
	core, logs := observer.New(zap.InfoLevel)
	lags := make(lagging, 10)
	r := &reloader{planner: a.checker(), elections: lags, counts: &reloads{}, inForce: p.Configuration, log: zap.New(core), slow: time.Millisecond}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	followed := make(chan error, 1)
	go func() { followed <- r.follow(ctx, p) }()
	late := clock.NewTimer(10 * time.Second)
	defer late.Stop()
	lag := func() (why string) {
		t.Helper()
		select {
		case why = <-lags:
		case <-late.C:
			t.Error("the member publishes no lag")
		}
		return why
	}
	if got := lag(); got != stalledLag {
		t.Errorf("the member lags since %q, want %q", got, stalledLag)
	}
	close(disk)
	refused := lag()
	if !strings.HasPrefix(refused, refusedLag) {
		t.Errorf("the member lags since %q, want what it refused", refused)
	}
	if got := lag(); got != refused {
		t.Errorf("in the end the member lags since %q, want %q", got, refused)
	}
	cancel()
	if err := <-followed; err != nil {
		t.Error(err)
	}
	if got := logs.FilterField(zap.String("file", p.Config)).FilterMessageSnippet("does not end").Len(); got != 1 {
		t.Errorf("the log says %d times that a look does not end, want once: %v", got, logs.All())
	}
}

// hungListener listens until it is released, whatever its context says.
type hungListener struct{ released chan struct{} }

func (d hungListener) Run(context.Context) { <-d.released }

// TestMemberLeavesThoughAListenerHangs checks that a member's run returns soon after its manager's, though something beside the
// manager hangs.
func TestMemberLeavesThoughAListenerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		m := b.prepare("m1", "group: g\ntiming: {profile: fast}\nelections:\n- {name: a, bootstrap: immediate, runners: [{name: w, work: {}}]}\n")
		if err := os.RemoveAll(b.dir); err != nil { // or the member follows its file, which it cannot do in a bubble
			t.Fatal(err)
		}
		listens := hungListener{make(chan struct{})}
		m.listeners = append(m.listeners, listens)
		core, logs := observer.New(zap.ErrorLevel)
		m.log = zap.New(core)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { m.done <- m.run(ctx) }()
		wait(20 * time.Second)
		if led := leaders(m)["a"]; len(led) != 1 {
			t.Errorf("a is led by %v", led)
		}
		cancel()
		wait(5 * time.Second)
		select {
		case err := <-m.done:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("the member has not left 5 s after its end")
		}
		if n := logs.FilterMessageSnippet("is left behind").Len(); n != 1 {
			t.Errorf("the log says %d times that something is left behind, want once: %v", n, logs.All())
		}
		close(listens.released)
	})
}
