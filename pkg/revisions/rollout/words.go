package rollout

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Each function here takes one command of an operator: it returns the plan that follows, or refuses.
// Store the result only if the old plan is still the stored one.

// ErrNoRollout: the group has no rollout.
var ErrNoRollout = errors.New("the group has no rollout (begin one: primacy rollout start)")

// Refused says why a command was refused, and what to do instead.
type Refused struct {
	Word, Problem, Hint string
}

func (r *Refused) Error() string { return fmt.Sprintf("cannot %s: %s (%s)", r.Word, r.Problem, r.Hint) }

// Start begins a rollout. The caller draws its uid. An old rollout that is over goes into the
// history. Start refuses while the old one goes on, or if it blocks the canary or the stable revision.
func (p Plan) Start(spec Spec, now time.Time) (Plan, error) {
	refused := func(hint, problem string, args ...any) (Plan, error) {
		return p, &Refused{"start a rollout", fmt.Sprintf(problem, args...), hint}
	}
	if err := p.whole(); err != nil {
		return p, err
	}
	if old := p.Rollout; old != nil {
		switch phase := p.Phase(); {
		case phase.Blocks() && old.Canary == spec.Canary:
			return refused("primacy rollout retry tries it again", "revision %q is blocked: its rollout is %s", spec.Canary, phase)
		case phase.Blocks() && old.Canary == spec.Stable:
			hint := "name another one with --stable; primacy rollout end ends that rollout"
			if old.Stable != spec.Canary {
				hint = "name another one with --stable, such as " + old.Stable
			}
			return refused(hint, "the stable revision %q is blocked: its rollout is %s. Everything would move back to it at once", spec.Stable, phase)
		case !phase.Blocks() && phase != Complete:
			return refused("abort it first, or let it end", "the rollout from %q to %q is %s", old.Stable, old.Canary, phase)
		case old.UID == spec.UID:
			return refused("draw another one", "the uid %s was used before", spec.UID)
		}
	}
	spec = spec.WithDefaults()
	spec.Generation, spec.StartedAt = 1, At(now)
	spec.Abort, spec.Paused, spec.Promote, spec.Retry, spec.Forgive = false, false, nil, 0, 0
	if err := spec.Validate(); err != nil {
		return p, fmt.Errorf("start a rollout: %w", err)
	}
	p = p.shelved(now)
	p.Rollout = &spec
	return p, nil
}

// shelved moves the rollout into the history.
func (p Plan) shelved(now time.Time) Plan {
	if old := p.Rollout; old != nil {
		ended := p.Ended()
		if ended.IsZero() {
			ended = At(now)
		}
		p.History = append(slices.Clone(p.History), Ended{
			UID: old.UID, Stable: old.Stable, Canary: old.Canary, Started: old.StartedAt, Ended: ended, By: old.By, How: p.Phase(),
		})
		p.History = p.History[max(0, len(p.History)-HistoryLength):]
	}
	p.Rollout, p.Status = nil, nil
	p.Unreadable = slices.DeleteFunc(slices.Clone(p.Unreadable), func(key string) bool { return key == KeyStatus })
	return p
}

// End removes a rollout that was aborted or rolled back, so that elections follow the default source again. Its canary is
// no longer blocked. See that no member's default names the canary: else every election moves to it at once.
func (p Plan) End(now time.Time) (Plan, error) {
	switch phase := p.Phase(); {
	case p.Rollout == nil || p.unreadable(KeyRollout):
		return p, ErrNoRollout
	case phase == Complete:
		return p, &Refused{"end", "the rollout is Complete", "elections follow the default revision already"}
	case phase == Promoted:
		return p, &Refused{"end", "the rollout is Promoted", "it is complete once the default source names its canary; primacy rollout abort takes it back"}
	case !phase.Blocks():
		return p, &Refused{"end", fmt.Sprintf("the rollout is %s", phase), "abort it first: primacy rollout abort"}
	}
	return p.shelved(now), nil
}

// Abort takes every election back to stable. It works in every phase, without a controller, and
// with an unreadable status.
func (p Plan) Abort() (Plan, error) {
	return p.say(func(s *Spec) error { s.Abort = true; return nil })
}

// Pause holds the rollout where it is.
func (p Plan) Pause() (Plan, error) {
	return p.say(func(s *Spec) error {
		if phase := p.Phase(); phase.Blocks() || phase == Promoted || phase == Complete {
			return &Refused{"pause", fmt.Sprintf("the rollout is %s", phase), "there is nothing left to hold"}
		}
		s.Paused = true
		return nil
	})
}

// Resume ends a Pause. To end a step that is a pause, use PromoteStep.
func (p Plan) Resume() (Plan, error) {
	return p.say(func(s *Spec) error {
		if !s.Paused {
			return &Refused{"resume", fmt.Sprintf("nobody paused the rollout: it is %s", p.Phase()), "primacy rollout promote goes on to the next step"}
		}
		s.Paused = false
		return nil
	})
}

// PromoteStep ends the wait in the present step.
func (p Plan) PromoteStep() (Plan, error) {
	return p.promote(func() (Promote, error) { return Promote{Step: p.Status.Step}, nil })
}

// PromotePast ends the wait in the step that the operator was shown. It refuses if the rollout has
// reached another step since, which the operator has not seen.
func (p Plan) PromotePast(shown Plan) (Plan, error) {
	return p.promote(func() (Promote, error) {
		step := 0
		if shown.Status.Of(shown.Rollout) {
			step = shown.Status.Step
		}
		if now := p.Status.Step; now != step {
			return Promote{}, &Refused{"promote", fmt.Sprintf("the rollout is at step %d now, and not at step %d", now, step), "look again: primacy rollout status"}
		}
		return Promote{Step: step}, nil
	})
}

// PromoteFull passes all steps but the last.
func (p Plan) PromoteFull() (Plan, error) {
	return p.promote(func() (Promote, error) { return Promote{Full: true}, nil })
}

// tookBack is what an operator can do with a rollout that was aborted or rolled back.
const tookBack = "primacy rollout retry begins it again; primacy rollout end lets elections follow the default revision"

func (p Plan) promote(what func() (Promote, error)) (Plan, error) {
	return p.say(func(s *Spec) error {
		switch phase := p.Phase(); {
		case phase == Pending && p.unreadable(KeyStatus):
			return &Refused{"promote", "the rollout's status is unreadable or was edited by hand", "its controller writes it again; primacy rollout abort and retry work without it"}
		case phase == Pending:
			return &Refused{"promote", "no controller has begun the rollout", "see that members run: primacy status"}
		case phase == Degraded:
			return &Refused{"promote", "failures paused the rollout", "primacy rollout retry goes on in spite of them"}
		case phase.Blocks():
			return &Refused{"promote", fmt.Sprintf("the rollout is %s", phase), tookBack}
		case phase == Promoted, phase == Complete:
			return &Refused{"promote", fmt.Sprintf("the rollout is %s", phase), "primacy rollout status tells more"}
		}
		word, err := what()
		if err != nil {
			return err
		}
		s.Promote, s.Paused = &word, false
		return nil
	})
}

// Retry begins again after an abort or a rollback, or if the status is unreadable. If failures
// paused the rollout, it goes on in spite of them.
func (p Plan) Retry() (Plan, error) {
	phase := p.Phase()
	anew := phase.Blocks() || p.unreadable(KeyStatus)
	next, err := p.say(func(s *Spec) error {
		switch {
		case anew:
			s.Retry++
			s.Abort, s.Paused, s.Promote = false, false, nil
		case phase == Degraded:
			s.Forgive++
			s.Paused = false
		default:
			return &Refused{"retry", fmt.Sprintf("the rollout is %s", phase), "only what was aborted, rolled back or degraded is tried again"}
		}
		return nil
	})
	if err == nil && anew {
		next.Status = nil
		next.Unreadable = slices.DeleteFunc(slices.Clone(p.Unreadable), func(key string) bool { return key == KeyStatus })
	}
	return next, err
}

// say applies a command to the spec.
func (p Plan) say(word func(*Spec) error) (Plan, error) {
	if p.Rollout == nil || p.unreadable(KeyRollout) {
		return p, ErrNoRollout
	}
	spec := *p.Rollout
	if err := word(&spec); err != nil {
		return p, err
	}
	spec.Generation++
	p.Rollout = &spec
	return p, nil
}

// PinTo adds a pin, or replaces the pin of the same election.
func (p Plan) PinTo(pin Pin) (Plan, error) {
	if err := p.whole(); err != nil {
		return p, err
	}
	var f findings
	if f.pin("", pin); f.errs != nil {
		return p, fmt.Errorf("pin %s: %w", pin.Election, f.errs.OrNil())
	}
	p.Pins = append(p.without(pin.Election), pin)
	return p, nil
}

// Unpin removes the pin of an election.
func (p Plan) Unpin(election string) (Plan, error) {
	if err := p.whole(); err != nil {
		return p, err
	}
	if _, pinned := p.Pin(election); !pinned {
		return p, &Refused{"unpin " + election, "it is not pinned", "primacy pins lists what is"}
	}
	p.Pins = p.without(election)
	return p, nil
}

func (p Plan) without(election string) []Pin {
	return slices.DeleteFunc(slices.Clone(p.Pins), func(pin Pin) bool { return pin.Election == election })
}

// whole refuses an unreadable plan: we don't overwrite what nobody can read.
func (p Plan) whole() error {
	if p.unreadable(KeyPins) || p.unreadable(KeyRollout) {
		return &Refused{"change the plan", "what is stored cannot be read", "correct or remove the broken key of the ConfigMap"}
	}
	return nil
}
