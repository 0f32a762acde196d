package controller

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/lock"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

// ElectionName is the name of the election in which a group's controller works, and of that
// election's lock.
func ElectionName(group string) string { return "rollout-" + group }

// Config is what a Controller needs. Only Default, Clock and Log may be left out.
type Config struct {
	Group string
	// Sessions is the store of the group's sessions; Timing is their timing.
	Sessions lock.Store
	Timing   record.Timing
	// Elections returns the elections of the group, the controller's own among them, and a channel
	// that closes when they change. The controller leaves disabled ones alone.
	Elections func() ([]election.Spec, <-chan struct{})
	// Plans is the source that members follow. The caller watches it.
	Plans *steering.Source
	// Maps are the ConfigMaps of the namespace in which the plan is stored.
	Maps coreclient.ConfigMapInterface
	// Checks are the checks that a spec may name.
	Checks *check.Registry
	// Default writes the default revision at the end; nil writes none.
	Default revisions.Writer
	// Clock defaults to CLOCK_BOOTTIME.
	Clock clock.Clock
	// Log takes the rollout's events, and trouble. Default: nothing is logged.
	Log *zap.Logger
}

// Controller is the work of the election ElectionName.
type Controller struct{ cfg Config }

var _ election.Contained = (*Controller)(nil)

// New makes a controller. It starts nothing.
func New(cfg Config) *Controller {
	if cfg.Clock == nil {
		cfg.Clock = clock.Boottime()
	}
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	return &Controller{cfg}
}

// Contained implements election.Contained: a write after the term's end meets a conflict, so it does
// no harm.
func (c *Controller) Contained() bool { return true }

// Run implements election.Runner. It returns an error, and so gives the term up, only if a store can
// no longer be watched.
func (c *Controller) Run(ctx context.Context, term election.Term) error {
	t := &tenure{Config: c.cfg, term: term}
	t.Log = t.Log.With(zap.String("group", c.cfg.Group), zap.Uint64("token", uint64(term.Token)))
	for ctx.Err() == nil {
		sight, changed := t.Plans.Sight()
		if t.busy(sight) {
			if err := t.drive(ctx); err != nil {
				return err
			}
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return nil
}

// tenure is the controller's work during one term. It belongs to the goroutine of Run.
type tenure struct {
	Config
	term election.Term
	eyes *eyes

	// notBefore is when the next write of the status is allowed, after trouble.
	notBefore record.Instant
	// said is the last logged obstacle; empty while there is none.
	said string
	// blindSince is since when the controller has not seen its group; zero while it does. blindSaid: it has logged that.
	blindSince record.Instant
	blindSaid  bool
	// mended is the last plan whose unreadable status we replaced.
	mended *rollout.Plan
	// promoted is the attempt whose canary we made the default; untilDefault is when we
	// may try to write the default again.
	promoted     attempt
	untilDefault record.Instant
	// saidDefault is the last logged reason why the default could not be written.
	saidDefault string
}

// attempt names one attempt of a rollout: retry counts how often operators have tried the rollout again.
type attempt struct {
	uid   string
	retry int
}

// busy says whether there is a rollout to drive, or a status to write again.
func (t *tenure) busy(s steering.Sight) bool {
	if s.Plan == nil || s.Default == nil || s.Plan.Rollout == nil {
		return false
	}
	return !over(*s.Plan) || t.damaged() && t.mended != s.Plan
}

// over says whether the rollout can go no further without an operator, and the status says so.
func over(p rollout.Plan) bool {
	spec, status := p.Rollout, p.Status
	if !status.Of(spec) || status.Generation != spec.Generation {
		return false
	}
	if spec.Abort {
		return status.Phase == rollout.Aborted
	}
	return status.Phase.Blocks() || status.Phase == rollout.Complete
}

// damaged says whether a part of the stored plan cannot be read.
func (t *tenure) damaged() bool { return t.Plans.Freshness().Kept == revisions.ContentRefused }

// drive looks at every change, and when a look is due. It returns when there is nothing to drive,
// or when the elections change.
func (t *tenure) drive(ctx context.Context) error {
	alarm, err := clock.NewAlarm(t.Clock)
	if err != nil {
		return fmt.Errorf("rollout controller: %w", err)
	}
	defer alarm.Stop()
	elections, others := t.Elections()
	t.eyes = newEyes(t.Config, elections)
	t.blindSince, t.blindSaid = 0, false
	heard, close := t.eyes.open(ctx)
	defer close()
	for {
		// Unread events are older than the look that follows. Handle them first, or members that we
		// have heard of would seem silent.
		select {
		case h := <-heard:
			if err := t.eyes.take(h, heard); err != nil {
				return fmt.Errorf("rollout controller: %w", err)
			}
		default:
		}
		sight, changed := t.Plans.Sight()
		if !t.busy(sight) {
			return nil
		}
		if wake := t.look(ctx, sight); wake != 0 {
			alarm.Set(wake)
		}
		select {
		case h := <-heard:
			if err := t.eyes.take(h, heard); err != nil {
				return fmt.Errorf("rollout controller: %w", err)
			}
		case <-changed:
		case <-alarm.C():
		case <-others:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// Errors that keep a controller from writing.
var (
	errBlind      = errors.New("cannot read the rollout's status, and know no earlier one: nothing moves (primacy rollout abort takes every election to stable; primacy rollout retry starts again)")
	errSpecBroken = errors.New("what is stored of the rollout itself cannot be read, so it stays where it is (correct the key rollout of its ConfigMap)")
	errDeposed    = errors.New("a controller of a later term is at work (if the plan was restored from another cluster, there is no such controller: primacy rollout abort and then retry begin the rollout again)")
)
