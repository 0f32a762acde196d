package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/members"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout/check/all"
)

// The class Rollouts: the elections' preferences follow from a plan that an operator and a controller
// change. The controller is the work of the last election. It moves like any other work, is paused, dies,
// or is deposed in the middle of its own step, and its writes may come late.

// steering is the stored plan, and what each host has seen of it.
type steering struct {
	w   *world
	rng *rand.Rand
	own string
	// byDefault is what the default source says.
	byDefault record.Preferred
	plan      rollout.Plan
	// writes counts stored writes. A write is stored only if no other was stored since its author looked.
	writes int
	shown  map[*host]shownPlan
	checks *check.Registry
}

type shownPlan struct {
	plan      rollout.Plan
	byDefault record.Preferred
	writes    int
}

// rolloutBound is how long the rest of a rollout may take in calm: five steps, each with a pause, moves
// one after the other, and moves that a failed member delays.
func (w *world) rolloutBound() int64 {
	each := w.timing.LeaseDuration + w.preferenceBound()
	return int64(time.Duration(5+2*len(w.elections))*each + 32*w.timing.StandDown)
}

const stable, canary = "blue", "green"

// steer has the preferences follow from a plan.
func (w *world) steer(rng *rand.Rand) {
	s := &steering{
		w: w, rng: rng, own: w.elections[len(w.elections)-1], byDefault: record.Prefer(stable),
		shown: map[*host]shownPlan{}, checks: all.Registry(),
	}
	w.steering = s
	s.prefer()
	w.at(int64(w.timing.LeaseDuration)*2, func() {
		if s.start() {
			w.cov.saw(RolloutWord)
		}
	})
	w.every(w.timing.RenewInterval/2, s.control)
}

// prefer derives the preference of every election from the plan.
func (s *steering) prefer() {
	for e, name := range s.w.elections {
		s.w.preferred[e] = s.plan.Preferred(name, s.byDefault)
	}
}

// show lets a host see what is stored.
func (s *steering) show(h *host) { s.shown[h] = shownPlan{s.plan, s.byDefault, s.writes} }

// store stores the next plan, unless something was stored since the write numbered onto.
func (s *steering) store(next rollout.Plan, onto int) bool {
	if onto != s.writes {
		return false
	}
	s.writes++
	s.judge(next)
	s.plan = next
	s.tell()
	return true
}

// tell shows everybody the stored plan, to some hosts late.
func (s *steering) tell() {
	w := s.w
	s.prefer()
	w.logf("world", "rollout is %s: %v", s.plan.Phase(), w.preferred)
	for _, h := range w.hosts {
		delay := w.upTo(time.Second)
		if !w.calm && w.chance(0.2) {
			delay = w.spell()
		}
		w.after(delay, h.syncPreferences)
	}
}

// judge objects to a rollout that goes back, or that goes on although it was taken back: a deposed
// controller's late write would cause either.
func (s *steering) judge(next rollout.Plan) {
	was, is := s.plan.Status, next.Status
	if next.Rollout == nil || is == nil || !was.Of(next.Rollout) || !is.Of(next.Rollout) {
		return
	}
	switch {
	case was.Phase.Blocks() && !is.Phase.Blocks():
		s.w.violate("rollout", "it goes on as %s after it was %s", is.Phase, was.Phase)
	case is.Step < was.Step:
		s.w.violate("rollout", "step %d comes after step %d", is.Step, was.Step)
	case is.Phase.Blocks() || is.Phase == rollout.Complete:
	default:
		for _, e := range s.w.elections {
			if was.Reach.Has(next.Rollout.UID, e) && !is.Reach.Has(next.Rollout.UID, e) {
				s.w.violate("rollout", "it gave up election %s, which it had reached", e)
			}
		}
	}
}

func (s *steering) start() bool {
	lease := s.w.timing.LeaseDuration
	spec := rollout.Spec{
		UID: fmt.Sprintf("%016x", s.rng.Uint64()), Stable: stable, Canary: canary, AcquireTimeout: 4 * lease,
		MaxConcurrentMoves: 1 + s.rng.IntN(3), FailureLimit: s.rng.IntN(4),
		WhenPreferredAbsent: []rollout.WhenAbsent{rollout.Stay, rollout.Stay, rollout.Wait, rollout.RollbackWhenAbsent}[s.rng.IntN(4)],
		OnFailure:           []rollout.OnFailure{rollout.Rollback, rollout.Rollback, rollout.HoldOn}[s.rng.IntN(3)],
	}
	if s.rng.IntN(3) == 0 {
		spec.Steps = append(spec.Steps, rollout.Step{Elections: s.w.elections[:1]})
	}
	for weight := 1 + s.rng.IntN(60); weight < 100; weight += 1 + s.rng.IntN(60) {
		spec.Steps = append(spec.Steps, rollout.Step{SetWeight: weight}, rollout.Step{Pause: &rollout.Pause{Duration: time.Second + lease/4}})
	}
	spec.Steps = append(spec.Steps, rollout.Step{SetWeight: 100})
	return s.say(func(p rollout.Plan) (rollout.Plan, error) { return p.Start(spec, s.w.wall()) })
}

// say carries out an operator's request; a refused request has no effect.
func (s *steering) say(word func(rollout.Plan) (rollout.Plan, error)) bool {
	next, err := word(s.plan)
	return err == nil && s.store(next, s.writes)
}

// word makes one random request of an operator.
func (s *steering) word() bool {
	switch s.rng.IntN(10) {
	case 0, 1:
		return s.say(rollout.Plan.Abort)
	case 2, 3:
		return s.say(rollout.Plan.Retry)
	case 4:
		return s.say(rollout.Plan.Pause)
	case 5:
		return s.say(rollout.Plan.Resume)
	case 6:
		return s.say(rollout.Plan.PromoteStep)
	case 7:
		return s.say(rollout.Plan.PromoteFull)
	case 8:
		return s.start()
	}
	s.byDefault = record.Prefer([]string{stable, canary}[s.rng.IntN(2)])
	s.writes++
	s.tell()
	return true
}

// control lets the leader of the controller's election look, and perhaps write.
func (s *steering) control() {
	own := slices.Index(s.w.elections, s.own)
	for _, k := range s.w.judge.working[own] {
		h := k.m.i.p.h
		if sight, ok := s.shown[h]; ok && h.proc == k.m.i.p && h.proc.runs() && !k.asked {
			s.look(h, k.m.i, sight)
		}
	}
}

// look has a controller look once at what its member knows, and do the next step.
func (s *steering) look(h *host, i *incarnation, sight shownPlan) {
	plan := sight.plan
	if plan.Rollout == nil || plan.Blind() {
		return
	}
	now := s.w.wall()
	seen := s.seen(i, sight)
	if plan.Status.Of(plan.Rollout) {
		seen.Failures = s.checks.Find(check.Sight{Spec: *plan.Rollout, Status: *plan.Status, Seen: seen, Now: now})
	}
	next := rollout.Advance(*plan.Rollout, plan.Status, seen, now).Status
	if plan.Status != nil && next.Sum() == plan.Status.Sum() {
		return
	}
	plan.Status = &next
	delay := h.link.latency()
	if !s.w.calm && s.w.chance(0.1) {
		delay = s.w.upTo(2 * s.w.timing.LeaseDuration)
	}
	s.w.after(delay, func() {
		if !s.store(plan, sight.writes) {
			s.w.cov.saw(RolloutLate)
			return
		}
		switch {
		case next.Phase.Blocks():
			s.w.cov.saw(RolloutTakenBack)
		case next.Phase == rollout.Promoted:
			s.w.cov.saw(RolloutDone)
		default:
			s.w.cov.saw(RolloutStep)
		}
		if h.proc != nil && h.proc.inc == i {
			s.show(h)
		}
	})
}

// seen is what a member sees of the group.
func (s *steering) seen(i *incarnation, sight shownPlan) rollout.Seen {
	seen := rollout.Seen{Own: s.own, Default: sight.byDefault}
	living := []record.Member{i.member.Says()}
	for _, p := range i.member.View().Peers {
		living = append(living, p.Member)
		if p.Preference != i.seen.Digest() {
			seen.Divided = append(seen.Divided, p.Identity)
		}
	}
	for _, m := range living {
		seen.Members = append(seen.Members, rollout.Member{
			Identity: m.Identity, Revision: m.Revision, Ready: m.Ready, Duration: s.w.timing.LeaseDuration,
		})
	}
	for _, name := range s.w.elections {
		e := rollout.Election{Name: name}
		r := s.w.store.read(name).Record
		if r != nil && r.Holder != "" && r.Bound() {
			e.Holder, e.Revision = r.Holder, r.Mark.Key.Revision()
			for _, l := range machine.Losses(r.History) {
				if i.member.Directory().MemberRevision(l.Who) == canary && !(l.Orphaned && i.member.Directory().Left(l.Who)) {
					e.Lost = append(e.Lost, l.When)
				}
			}
		}
		if r != nil {
			e.Failed = members.Failed(living, name, r.History)
		}
		for _, m := range living {
			if m.Revision == canary && m.Ready && m.StandsFor(name) {
				e.Canary = m.Identity
				break
			}
		}
		seen.Elections = append(seen.Elections, e)
	}
	return seen
}

// becalm has the operator resume the rollout and then leave it alone.
func (s *steering) becalm() { s.say(rollout.Plan.Resume) }

// canaryLives says whether a member of the canary revision lives; without one nothing is promoted.
func (s *steering) canaryLives() bool {
	return slices.ContainsFunc(s.w.hosts, func(h *host) bool { return h.revision == canary && h.proc != nil })
}

// settled objects to a rollout that is still under way at the end of the run, although there is a
// controller and nothing to wait for.
func (s *steering) settled() {
	switch phase := s.plan.Phase(); phase {
	case rollout.Pending, rollout.Progressing, rollout.Paused, rollout.Analysing:
		own := s.w.leader(slices.Index(s.w.elections, s.own))
		if own == nil || s.plan.Status != nil && len(s.plan.Status.Absent) > 0 && (s.plan.Rollout.WhenPreferredAbsent == rollout.Wait || !s.canaryLives()) {
			return
		}
		s.w.violate("rollout", "it is %s at the end, and %s leads %s", phase, own.i.identity, s.own)
	}
}
