package controller

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check"
	"github.com/primacy-dev/primacy/pkg/revisions/steering"
)

const (
	// writeTime is how long the API server may take for one change of the status.
	writeTime = 10 * time.Second
	// again is the wait after trouble. againDefault is the wait before we try again to write the
	// default revision: it may need a person.
	again        = time.Second
	againDefault = 10 * time.Second
)

// look acts on what is seen now. It returns when to look again if nothing changes; zero for never.
func (t *tenure) look(ctx context.Context, sight steering.Sight) (wake record.Instant) {
	now := t.Clock.Now()
	if now < t.notBefore {
		return t.notBefore
	}
	if sight.Plan.Blind() {
		t.trouble(errBlind)
		return 0
	}
	m, ok := t.eyes.moment(t.term.Election, t.term.Identity, now)
	if !ok {
		return t.blind(now)
	}
	t.blindSince, t.blindSaid = 0, false
	out := t.advance(*sight.Plan, m, sight)
	mend := t.damaged() && t.mended != sight.Plan
	if mend || out.Status.Sealed().Checksum != stored(sight.Plan.Status) {
		var err error
		if out, err = t.store(ctx, m, sight); err != nil {
			if ctx.Err() != nil {
				return 0
			}
			t.trouble(err)
			t.notBefore = now.Add(again)
			return t.notBefore
		}
		if mend {
			t.mended = sight.Plan
		}
	}
	t.said = ""
	wake = m.Changes
	if !out.Wake.IsZero() {
		wake = sooner(wake, now.Add(max(0, out.Wake.Sub(t.Clock.Wall()))))
	}
	if ends := sight.Plan.At(t.Clock.Wall()).Ends(); !ends.IsZero() {
		wake = sooner(wake, now.Add(max(0, ends.Sub(t.Clock.Wall()))))
	}
	return sooner(wake, t.makeDefault(ctx, m, sight))
}

// blind logs what the controller does not see, once that has lasted for a leaseDuration. It returns when to look again; zero
// for at the next event, since our own next beat is one.
func (t *tenure) blind(now record.Instant) (wake record.Instant) {
	if t.blindSince == 0 {
		t.blindSince = now
	}
	switch late := t.blindSince.Add(t.Timing.LeaseDuration); {
	case now < late:
		return late
	case !t.blindSaid:
		t.blindSaid = true
		t.trouble(t.eyes.missing())
	}
	return 0
}

// stored returns the checksum of a status that was read; empty for nil.
func stored(s *rollout.Status) string {
	if s == nil {
		return ""
	}
	return s.Checksum
}

func sooner(a, b record.Instant) record.Instant {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// advance computes the next step for a plan.
func (t *tenure) advance(plan rollout.Plan, m moment, sight steering.Sight) rollout.Next {
	spec, wall := *plan.Rollout, m.wallAt(t.Clock.Now())
	plan = plan.At(wall)
	seen := m.seen(plan, sight)
	if plan.Status.Of(&spec) {
		seen.Failures = t.Checks.Find(check.Sight{Spec: spec, Status: *plan.Status, Seen: seen, Now: wall})
	}
	out := rollout.Advance(spec, plan.Status, seen, wall)
	out.Status.Token = uint64(t.term.Token)
	return out
}

// store reads the stored plan, which may be newer than the plan we saw, and writes the next step for
// it. It replaces an unreadable status, based on the status that we know.
func (t *tenure) store(ctx context.Context, m moment, sight steering.Sight) (out rollout.Next, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	known, lost := sight.Plan.Status, false
	err = steering.EditKnowing(ctx, t.Maps, t.Group, *sight.Plan, func(p *rollout.Plan, stored steering.Stored) error {
		out = rollout.Next{}
		lost = known.Of(p.Rollout) && !stored.Readable(rollout.KeyStatus)
		switch {
		case !stored.Readable(rollout.KeyRollout):
			return errSpecBroken // it may hold an operator's command that nobody can read
		case p.Rollout == nil:
			return nil
		case p.Blind():
			return errBlind
		case p.Status.Of(p.Rollout) && p.Status.Token > uint64(t.term.Token):
			return errDeposed
		}
		out = t.advance(*p, m, sight)
		p.Status = &out.Status
		return nil
	})
	if err != nil {
		return rollout.Next{}, err
	}
	if lost {
		t.Log.Warn("somebody edited or removed the rollout's status; members ignored that, and the controller wrote the status again")
	}
	t.tell(out)
	return out, nil
}

// makeDefault makes the canary of a promoted rollout the default revision, once, if the default's
// source is writable from here.
func (t *tenure) makeDefault(ctx context.Context, m moment, s steering.Sight) (wake record.Instant) {
	if t.Default == nil || !t.promotes(*s.Plan, m, s) {
		return 0
	}
	spec, now := s.Plan.Rollout, t.Clock.Now()
	this := attempt{spec.UID, spec.Retry}
	if t.promoted == this || s.Default.For(t.term.Election) == record.Prefer(spec.Canary) {
		return 0
	}
	if now < t.untilDefault {
		return t.untilDefault
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	// Our plan may be old: an operator may have aborted the rollout since.
	stored, err := steering.Load(ctx, t.Maps, t.Group)
	switch {
	case err != nil:
	case stored.Plan.Status.Of(spec) && stored.Plan.Status.Token == uint64(t.term.Token) && t.promotes(stored.Plan, m, s):
		err = t.Default.Write(ctx, spec.Stable, spec.Canary)
	default:
		return 0 // the event that says so is on its way
	}
	switch {
	case errors.Is(err, revisions.ErrNotWritable):
		t.promoted = this // the status says what the operator must do
	case err != nil:
		if text := err.Error(); text != t.saidDefault {
			t.saidDefault = text
			t.Log.Warn("the default revision could not be set; the rollout is complete once it is", zap.String("revision", spec.Canary), zap.Error(err))
		}
		t.untilDefault = now.Add(againDefault)
		return t.untilDefault
	default:
		t.promoted = this
		t.Log.Info("default revision set", zap.String("revision", spec.Canary))
	}
	return 0
}

// promotes says whether only the change of the default is left to do. A canary that leads the controller's own election alone
// has shown nothing, unless all others are pinned.
func (t *tenure) promotes(p rollout.Plan, m moment, s steering.Sight) bool {
	if p.Phase() != rollout.Promoted || p.Rollout.Paused || p.At(t.Clock.Wall()).Standstill != nil || p.Status.Waits(*p.Rollout, t.Clock.Wall()) {
		return false
	}
	moved := p.Status.Moved
	others := slices.ContainsFunc(m.seen(p, s).Elections, func(e rollout.Election) bool { return e.Name != m.own && !e.Pinned })
	if me := m.Member(t.term.Identity); me != nil && me.Revision == p.Rollout.Canary && others {
		moved-- // we lead the controller's own election
	}
	return moved > 0
}

// trouble logs why the rollout does not go on, once for each reason.
func (t *tenure) trouble(err error) {
	if text := err.Error(); text != t.said {
		t.said = text
		t.Log.Warn("the rollout does not go on", zap.Error(err))
	}
}

// tell logs the events.
func (t *tenure) tell(out rollout.Next) {
	for _, e := range out.Events {
		fields := []zap.Field{zap.String("uid", out.Status.UID), zap.Int("step", e.Step), zap.String("phase", string(e.Phase))}
		if len(e.Elections) > 0 {
			fields = append(fields, zap.Strings("elections", e.Elections))
		}
		switch e.Kind {
		case rollout.Failed:
			t.Log.Warn("rollout: "+e.Kind.String(), append(fields, zap.Stringer("failure", e.Failure))...)
		case rollout.PhaseChanged:
			t.Log.Info("rollout: "+e.Kind.String(), append(fields, zap.String("message", out.Status.Message))...)
		default:
			t.Log.Info("rollout: "+e.Kind.String(), fields...)
		}
	}
}
