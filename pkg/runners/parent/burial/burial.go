// Package burial gives a program a parent process that ends the program's session as soon as the program has died.
//
// Call Start at the head of main, and put what it returns into election.Config:
//
//	guard, err := burial.Start(burial.Plan{Sessions: sessions})
//	if err != nil {
//		log.Print(err) // nobody proves our death: after a crash others wait for a leaseDuration
//	}
//	m, err := election.NewManager(election.Config{Parent: guard, ...})
//
// If the program then panics, calls os.Exit or is killed, its parent kills what is left of it, ends its session, and
// ends as the program did. Others lead its elections at once. This holds for functions as for programs: a function
// dies with its process. Package parent says how, and what is not proved.
//
// The package works on Linux only. Elsewhere it compiles, and Start returns an error that wraps parent.ErrUnsupported, so
// the program above logs it and goes on.
package burial

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/runners/parent"
)

// Plan says what a parent needs once its member has died. Start and Outlive call its functions in the parent, where main
// has run no further than to that call. They call them on goroutines of their own, and do not wait for one that hangs.
type Plan struct {
	parent.Options
	// Sessions opens the store with the member's sessions, the one that its election.Config has as Locks.
	Sessions func(*parent.Dead) (lock.Store, error)
	// Log makes the log for what has become of the sessions. Default: nothing is logged.
	Log func(*parent.Dead) *zap.Logger
}

// Start gives this program a parent process, and returns in the member. It executes the program from its beginning,
// twice, so call it before anything that must not happen twice. In the parent it does not return: it ends the
// sessions of the dead member, and then the process.
//
// The Parent is for election.Config. It is nil if there is an error; then the program may go on, and nobody proves its
// death. parent.Start says which errors there are.
func Start(p Plan) (election.Parent, error) {
	if d := parent.Bereaved(); d != nil {
		p.Outlive(context.Background(), d)
	}
	line, err := parent.Start(p.Options)
	if err != nil {
		return nil, fmt.Errorf("no parent process: %w", err)
	}
	return line, nil
}

// These bound how long the parent of a dead member tries, since nobody starts the program again before the parent has
// ended. burialHaste is the bound if the member ended in order, since it has tried itself to end its session, and after
// a signal. lastWord is how long we then wait for a call that does not heed the end of its context.
const (
	burialTime  = 5 * time.Second
	burialHaste = time.Second
	lastWord    = 500 * time.Millisecond
)

// Outlive is the rest of a parent's life, once its member has died: it waits until nothing is left of the member,
// and ends the sessions that the member left. Then it ends the process as the member ended, even if a function of the
// Plan, the store or the log hangs or panics. It does not return.
func (p Plan) Outlive(ctx context.Context, d *parent.Dead) {
	ctx, cancel := context.WithTimeout(ctx, burialTime)
	defer cancel()
	defer d.Exit(ctx)
	burial, giveUp := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer giveUp()
	wg.Go(func() {
		if !d.InOrder() {
			select {
			case <-d.Hurried():
			case <-burial.Done():
				return
			}
		}
		clock.Wait(burial, burialHaste)
		giveUp()
	})
	left := d.Sessions()
	became := make(chan fate, len(left))
	err := within(burial, func(s *step) error { return p.buryAll(burial, d, left, became, s) })
	// The log may fail or hang, so it comes last. What happens then, nobody hears.
	_ = within(burial, func(*step) error { return p.tell(d, became, err) })
}

// fate is what became of a session.
type fate struct {
	parent.Session
	err error
}

// tell logs what has become of the sessions so far, and why there is no more.
func (p Plan) tell(d *parent.Dead, became <-chan fate, why error) error {
	log := zap.NewNop()
	if p.Log != nil {
		log = p.Log(d)
	}
	log = log.With(zap.String("member", d.How()))
	const lapses = "the member is dead, but nobody can prove it: its elections are led again when its session has lapsed"
	for range len(became) {
		f := <-became
		log := log.With(zap.String("identity", f.Identity), zap.String("session", f.Name))
		if f.err != nil {
			log.Warn(lapses, zap.Error(f.err))
			continue
		}
		log.Info("the member died, and nothing of it is left: its session is over, and others lead its elections at once")
	}
	if why != nil {
		log.Warn(lapses, zap.Error(why))
	}
	return log.Sync()
}

// step is the call that a goroutine makes at present. Any goroutine may use it.
type step struct{ what atomic.Value }

func (s *step) begin(what string) { s.what.Store(what) }

// within calls f on a goroutine of its own, and returns f's error. A panic of f is an error. So is a call that has not
// returned lastWord after the end of ctx: that goroutine ends with this process.
func within(ctx context.Context, f func(*step) error) error {
	at, done := &step{}, make(chan error, 1)
	at.begin("begin")
	go func() { // joined by the receives from done, unless f hangs
		defer func() {
			if v := recover(); v != nil {
				done <- fmt.Errorf("%s: panic: %v", at.what.Load(), v)
			}
		}()
		done <- f(at)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	late := clock.NewTimer(lastWord)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-late.C:
		return fmt.Errorf("%s: it hangs, although its time is over (do the API server and the kubeconfig's credential program answer?)", at.what.Load())
	}
}

// EndLeft ends the sessions of members that were killed together with their parents, and of whose control groups this
// process's parent found nothing alive. It gives up when ctx ends: the sessions lapse then.
func EndLeft(ctx context.Context, sessions lock.Store, line *parent.Line, log *zap.Logger) {
	for _, s := range slices.Backward(line.Left) {
		log := log.With(zap.String("identity", s.Identity), zap.String("session", s.Name))
		death := election.Death{
			Proof: election.ProofCgroup, Identity: s.Identity, By: "next member in the place of " + s.Identity,
			How: "it was killed with its parent, and its control group is empty", At: clock.Boottime().Wall(),
		}
		if err := election.Bury(ctx, sessions, s.Name, death); err != nil {
			log.Info("a member died here before us; its session lapses", zap.Error(err))
			continue
		}
		log.Info("a member died here before us, and its control group is empty: its session is over")
	}
}

// buryAll ends the sessions. It says what became of each, and never waits for somebody to hear that.
func (p Plan) buryAll(ctx context.Context, d *parent.Dead, left []parent.Session, became chan<- fate, at *step) error {
	if len(left) == 0 {
		return nil
	}
	at.begin("open the store of the sessions")
	sessions, err := p.Sessions(d)
	if err != nil {
		return err
	}
	at.begin("wait for the end of what the member left")
	if err := d.Proved(ctx); err != nil {
		return err
	}
	for _, s := range slices.Backward(left) { // the last one is most likely alive
		death := election.Death{Proof: election.ProofParent, Identity: s.Identity, By: "parent of " + s.Identity, How: d.How(), At: d.At()}
		at.begin("end session " + s.Name)
		became <- fate{s, election.Bury(ctx, sessions, s.Name, death)}
	}
	return nil
}
