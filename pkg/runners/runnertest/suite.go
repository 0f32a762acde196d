//go:build linux

package runnertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/runners"
)

// Kind is a kind of runner under test.
type Kind struct {
	// Name is the kind's, for the table.
	Name string
	// New makes a runner that does the work.
	New func(t *testing.T, w Work) election.Runner
	// Acts are what the kind's work can do; the suite leaves out cases that need another act. A kind
	// whose work is a process does all of Acts, a kind whose work is a function does InProcess.
	Acts []Act
	// Broken makes a runner that cannot even start; nil if there is no such thing.
	Broken func(t *testing.T) election.Runner
}

// Acts are all acts; InProcess are the acts of functions, which nothing can kill.
var (
	Acts      = []Act{Obey, Crash, Ignore, Slow, Fork, ForkCrash, Forks, Detach, Flood, Noise, Deaf}
	InProcess = []Act{Obey, Crash}
)

// slack is how late something may happen on a busy machine.
const slack = 3 * time.Second

// far is a time that no case reaches.
const far = 10 * time.Minute

// cases are run for every kind whose work can do the act.
var cases = []struct {
	name string
	act  Act
	run  func(*testing.T, *run)
}{
	{"stops when cancelled", Obey, stopsWhenCancelled},
	{"does nothing when cancelled before", Obey, cancelledBefore},
	{"can be cancelled while it starts", Obey, cancelledWhileStarting},
	{"can be cancelled while its supervisor is frozen", Ignore, frozenSupervisor},
	{"can be cancelled while its guard is frozen", Ignore, frozenGuard},
	{"fails if its start hangs while the term is extended", Ignore, hangingStart},
	{"does nothing after the deadline", Ignore, startedTooLate},
	{"passes extensions on", Obey, passesExtensions},
	{"runs again in the next term", Obey, runsAgain},
	{"reports work that ends by itself", Crash, reportsCrash},
	{"is given up when its work keeps crashing", Crash, givesUp},
	{"kills after the grace", Ignore, killsAfterGrace},
	{"kills before the work must be dead", Ignore, killsBeforeBy},
	{"kills what never got ready", Slow, killsSlow},
	{"kills at the deadline", Ignore, killsAtDeadline},
	{"does not kill what is extended", Ignore, sparesExtended},
	{"stops helpers with the work", Fork, stopsHelpers},
	{"kills helpers of work that crashed", ForkCrash, killsOrphans},
	{"stops many helpers", Forks, stopsHelpers},
	{"kills what detached itself", Detach, killsDetached},
	{"is not held up by a flood of output", Flood, survivesFlood},
	{"survives noise", Noise, survivesNoise},
	{"never waits for work that ignores extensions", Deaf, neverWaits},
	{"costs the term with onExit release", Crash, exitReleases},
	{"is done for the term with onExit stop", Crash, exitStops},
	{"starts before its sibling and stops after it", Obey, siblingsInOrder},
	{"keeps its sibling from starting until it is up", Slow, slowKeepsSiblings},
}

// Test runs the suite, and logs a table of it. Its cases do not run in parallel, and nothing else
// in the test binary may start processes meanwhile.
func Test(t *testing.T, k Kind) {
	table := table{kind: k.Name}
	for _, c := range cases {
		if !slices.Contains(k.Acts, c.act) {
			table.add(c.name, "does not apply")
			continue
		}
		ok := t.Run(c.name, func(t *testing.T) { c.run(t, &run{T: t, kind: k, stage: NewStage(t), act: c.act}) })
		table.add(c.name, passed(ok))
	}
	if k.Broken != nil {
		table.add("says why it cannot start", passed(t.Run("says why it cannot start", func(t *testing.T) { saysWhyBroken(t, k) })))
	}
	t.Log(table.String())
}

// run is one run of a runner.
type run struct {
	*testing.T
	kind  Kind
	act   Act
	stage *Stage

	runner election.Runner
	// extend grants the run's term a later deadline.
	extend func(record.Instant)
	cancel context.CancelCauseFunc
	done   chan error
}

func now() record.Instant { return clock.Boottime().Now() }

// begin starts a run in a term that is valid for the given time.
func (r *run) begin(valid, stopGrace time.Duration) {
	r.Helper()
	if r.runner == nil {
		r.runner = r.kind.New(r.T, Work{Act: r.act, Pipe: r.stage.Pipe, StopGrace: stopGrace})
	}
	r.start(context.Background(), valid)
}

func (r *run) start(parent context.Context, valid time.Duration) {
	ctx, cancel := context.WithCancelCause(parent)
	term, extend := election.NewTerm(election.Term{Election: "e", Identity: "host_1", Revision: "1-0", Token: 7, Cycle: 1}, now().Add(valid))
	r.extend = extend
	r.cancel, r.done = cancel, make(chan error, 1)
	go func() { r.done <- r.runner.Run(ctx, term) }()
	r.Cleanup(func() { cancel(nil) })
}

// stop cancels the run; the work must be dead within by.
func (r *run) stop(by time.Duration) {
	r.cancel(&election.Stop{Reason: "test", By: now().Add(by)})
}

// end waits for the end of the run, after which no work may exist.
func (r *run) end() error {
	r.Helper()
	err := r.returned()
	if r.stage.Alive() {
		r.Fatal("work exists after the runner has returned")
	}
	return err
}

func (r *run) returned() error {
	r.Helper()
	select {
	case err := <-r.done:
		return err
	case <-clock.NewTimer(patience).C:
		r.Fatal("the runner does not return")
		return nil
	}
}

func (r *run) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatalf("the runner returned an error: %v", err)
	}
}

func stopsWhenCancelled(t *testing.T, r *run) {
	r.begin(far, far)
	if got, want := r.stage.Await("began"), "e host_1 1-0 7"; got != want {
		t.Errorf("the work knows of its term %q, want %q", got, want)
	}
	r.stop(far)
	r.stage.Await("stopping")
	r.must(r.end())
}

func cancelledBefore(t *testing.T, r *run) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r.runner = r.kind.New(t, Work{Act: r.act, Pipe: r.stage.Pipe, StopGrace: far})
	r.start(ctx, far)
	if err := r.end(); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("it returned %v", err)
	}
}

func cancelledWhileStarting(_ *testing.T, r *run) {
	r.begin(far, far)
	r.stop(far)
	r.must(r.end())
}

func startedTooLate(t *testing.T, r *run) {
	r.begin(-time.Second, far)
	if err := r.end(); !errors.Is(err, runners.ErrDeadline) {
		t.Errorf("it returned %v, want ErrDeadline", err)
	}
	if events := r.stage.Unheard(); len(events) > 0 {
		t.Errorf("work was done: %q", events)
	}
}

func passesExtensions(t *testing.T, r *run) {
	r.begin(far, far)
	r.stage.Await("began")
	for i := range 3 {
		later := now().Add(far + time.Duration(i+1)*time.Second)
		r.extend(later)
		if got, want := r.stage.Await("extended"), fmt.Sprint(int64(later)); got != want {
			t.Errorf("the work was extended to %s, want %s", got, want)
		}
	}
	r.stop(far)
	r.must(r.end())
}

func runsAgain(_ *testing.T, r *run) {
	for range 2 {
		r.begin(far, far)
		r.stage.Await("began")
		r.stop(far)
		r.stage.Await("stopping")
		r.must(r.returned())
	}
	r.stage.AwaitEmpty()
}

func reportsCrash(t *testing.T, r *run) {
	r.begin(far, far)
	if err := r.end(); err == nil {
		t.Error("it returned no error though nobody had cancelled it")
	}
}

func givesUp(t *testing.T, r *run) {
	const failures = 3
	quick := runners.Restart{First: time.Millisecond, Most: time.Millisecond, Failures: failures}
	work := r.kind.New(t, Work{Act: r.act, Pipe: r.stage.Pipe, StopGrace: far})
	r.runner = runners.Supervise([]runners.Child{{Name: "work", Runner: work}}, runners.Supervision{Restart: quick})
	r.start(context.Background(), far)
	var gaveUp *runners.GaveUpError
	if err := r.end(); !errors.As(err, &gaveUp) || gaveUp.Failures != failures {
		t.Errorf("the supervision returned %v", err)
	}
	if events := r.stage.Unheard(); len(events) != failures {
		t.Errorf("it tells %q, want to hear of %d starts", events, failures)
	}
}

func killsAfterGrace(t *testing.T, r *run) {
	const grace = 500 * time.Millisecond
	r.begin(far, grace)
	r.stage.Await("began")
	began := now()
	r.stop(far)
	r.stage.Await("ignored")
	r.must(r.end())
	between(t, now().Sub(began), grace, grace+slack)
}

func killsBeforeBy(t *testing.T, r *run) {
	const by = 800 * time.Millisecond
	r.begin(far, far)
	r.stage.Await("began")
	began := now()
	r.stop(by)
	r.stage.Await("ignored")
	r.must(r.end())
	between(t, now().Sub(began), by/2, by+slack)
}

func killsSlow(t *testing.T, r *run) {
	const by = 800 * time.Millisecond
	r.begin(far, far)
	r.stage.Await("starting")
	began := now()
	r.stop(by)
	r.must(r.end())
	between(t, now().Sub(began), by/2, by+slack)
}

func killsAtDeadline(t *testing.T, r *run) {
	const valid = 500 * time.Millisecond
	began := now()
	r.begin(valid, far)
	if err := r.end(); !errors.Is(err, runners.ErrDeadline) {
		t.Errorf("it returned %v, want ErrDeadline", err)
	}
	between(t, now().Sub(began), valid/2, valid+slack)
}

func sparesExtended(t *testing.T, r *run) {
	// Measure a start, so that the term is long enough for one on a busy machine.
	began := now()
	r.begin(far, 0)
	r.stage.Await("began")
	valid := 1500*time.Millisecond + 3*now().Sub(began)
	r.stop(far)
	r.must(r.returned())

	r.begin(valid, 0)
	r.stage.Await("began")
	r.extend(now().Add(far))
	select {
	case err := <-r.done:
		t.Fatalf("the runner returned though its term was extended: %v", err)
	case <-clock.NewTimer(valid + 100*time.Millisecond).C:
	}
	r.stop(far)
	r.must(r.end())
}

func stopsHelpers(_ *testing.T, r *run) {
	r.begin(far, far)
	r.stage.Await("began")
	r.stop(far)
	r.stage.Await("stopping")
	r.must(r.end())
}

func killsOrphans(t *testing.T, r *run) {
	r.begin(far, far)
	if err := r.end(); err == nil {
		t.Error("it returned no error though nobody had cancelled it")
	}
	r.stage.Await("helper") // a helper was started
}

func killsDetached(_ *testing.T, r *run) {
	r.begin(far, far)
	r.stage.Await("detached")
	r.stage.Await("began")
	r.stop(far)
	r.stage.Await("stopping")
	r.must(r.end())
}

func survivesFlood(_ *testing.T, r *run) {
	r.begin(far, far)
	r.stage.Await("flooded")
	r.stop(far)
	r.stage.Await("stopping")
	r.must(r.end())
}

func survivesNoise(_ *testing.T, r *run) {
	r.begin(far, far)
	r.stage.Await("noisy")
	r.stage.Await("began")
	r.stop(far)
	r.must(r.end())
}

func neverWaits(t *testing.T, r *run) {
	r.begin(far, far)
	r.stage.Await("began")
	// More extensions than any pipe holds.
	extended := make(chan struct{})
	go func() {
		defer close(extended)
		for i := range 20_000 {
			r.extend(now().Add(far + time.Duration(i)*time.Second))
		}
	}()
	select {
	case <-extended:
	case <-clock.NewTimer(patience).C:
		t.Fatal("an extension is held up by work that does not read")
	}
	r.stop(far)
	r.stage.Await("stopping")
	r.must(r.end())
}

func saysWhyBroken(t *testing.T, k Kind) {
	r := &run{T: t, kind: k, stage: NewStage(t), runner: k.Broken(t)}
	r.start(context.Background(), far)
	if err := r.end(); err == nil {
		t.Error("it returned no error")
	}
}

func between(t *testing.T, took, least, most time.Duration) {
	t.Helper()
	if took < least || took > most {
		t.Errorf("it took %v, want between %v and %v", took, least, most)
	}
}
