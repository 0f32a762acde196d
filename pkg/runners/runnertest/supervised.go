//go:build linux

package runnertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/runners"
)

// These cases run every kind under supervision, with a sibling of another kind.

// supervise puts the kind's work under supervision, before its siblings.
func (r *run) supervise(onExit runners.OnExit, siblings ...runners.Child) {
	children := append([]runners.Child{{
		Name: "work", OnExit: onExit,
		Runner: r.kind.New(r.T, Work{Act: r.act, Pipe: r.stage.Pipe, StopGrace: far}),
	}}, siblings...)
	r.runner = runners.Supervise(children, runners.Supervision{})
}

func exitReleases(t *testing.T, r *run) {
	r.supervise(runners.ExitRelease)
	r.begin(far, far)
	err := r.returned()
	var gaveUp *runners.GaveUpError
	if !errors.As(err, &gaveUp) || gaveUp.Runner != "work" || gaveUp.Failures != 1 {
		t.Errorf("it returned %v", err)
	}
	r.stage.Await("began")
	if again := r.stage.Unheard(); len(again) > 0 {
		t.Errorf("it was run again: %q", again)
	}
}

func exitStops(t *testing.T, r *run) {
	r.supervise(runners.ExitStop)
	r.begin(far, far)
	if err := r.returned(); !errors.Is(err, runners.ErrAllEnded) {
		t.Errorf("it returned %v, want ErrAllEnded", err)
	}
	r.stage.Await("began")
	if again := r.stage.Unheard(); len(again) > 0 {
		t.Errorf("it was run again: %q", again)
	}
}

func siblingsInOrder(t *testing.T, r *run) {
	begun, ended := make(chan struct{}), make(chan struct{})
	r.supervise("", runners.Child{Name: "sibling", Runner: election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
		close(begun)
		<-ctx.Done()
		defer close(ended)
		return nil
	})})
	r.begin(far, far)
	select {
	case <-begun:
	case <-clock.NewTimer(patience).C:
		t.Fatal("the sibling was never started")
	}
	r.stage.Await("began")
	r.stop(far)
	r.stage.Await("stopping")
	select {
	case <-ended:
	default:
		t.Error("it was told to stop before the one after it had stopped")
	}
	r.must(r.end())
}

func slowKeepsSiblings(t *testing.T, r *run) {
	const by = 800 * time.Millisecond
	begun := false
	r.supervise("", runners.Child{Name: "sibling", Runner: election.RunnerFunc(func(ctx context.Context, _ election.Term) error {
		begun = true
		<-ctx.Done()
		return nil
	})})
	r.begin(far, far)
	r.stage.Await("starting")
	r.stop(by)
	r.must(r.end())
	w := r.kind.New(t, Work{Act: r.act, Pipe: r.stage.Pipe, StopGrace: far})
	if _, tells := w.(runners.Announcer); tells && begun {
		t.Error("the sibling was started though it was never up")
	}
}
