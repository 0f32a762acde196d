package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Advance computes the controller's next step from the spec, the last stored status and what the
// controller sees. last may be nil, or belong to another rollout. The result depends on nothing else,
// so that a new controller goes on where the last one stopped.
//
// It must not be called for a plan that is Blind.
func Advance(spec Spec, last *Status, seen Seen, now time.Time) Next {
	l := look{spec: spec, now: At(now), seen: seen}
	var before Phase
	if last.Of(&spec) {
		l.st, before = last.clone(), last.Phase
	} else {
		l.begin()
	}
	l.st.Generation = spec.Generation
	// If the last controller's clock was ahead of ours, the rollout and its step start now.
	l.st.Began, l.st.StepStarted = earlier(l.st.Began, l.now), earlier(l.st.StepStarted, l.now)
	switch phase := l.st.Phase; {
	case spec.Abort:
		l.takeBack(Aborted, "aborted by an operator: every election prefers "+spec.Stable)
	case phase.Blocks(), phase == Complete:
	case seen.Paused:
		l.standStill()
	case l.believes():
		l.goOn()
	}
	if l.st.Phase != before {
		l.tell(Event{Kind: PhaseChanged})
	}
	for i := range l.events {
		l.events[i].Step, l.events[i].Phase = l.st.Step, l.st.Phase
	}
	return Next{Status: l.st, Events: l.events, Wake: l.wake.Time}
}

// look holds the state of one call of Advance.
type look struct {
	spec   Spec
	st     Status
	seen   Seen
	now    Time
	events []Event
	wake   Time

	// others are all elections but the controller's own, by rank.
	others []Election
	own    Election
	// waiting counts elections that wait for their turn to move.
	waiting int
}

func (l *look) tell(e Event) { l.events = append(l.events, e) }

// begin sets the status of a rollout that no controller has looked at yet.
func (l *look) begin() {
	l.st = Status{
		UID: l.spec.UID, Stable: l.spec.Stable, Canary: l.spec.Canary, Retry: l.spec.Retry, Forgive: l.spec.Forgive,
		Phase: Progressing, Step: 1, Began: l.now, StepStarted: l.now,
	}
	l.tell(Event{Kind: Began})
}

// believes sorts the elections seen by rank. It returns false if the controller's own is missing,
// since then others may be missing too.
func (l *look) believes() bool {
	found := false
	names := map[string]bool{}
	for _, e := range l.seen.Elections {
		switch {
		case names[e.Name], e.Follows == Ignores:
		case e.Name == l.seen.Own:
			found, l.own = true, e
		default:
			l.others = append(l.others, e)
		}
		names[e.Name] = true
	}
	ranks := make(map[string]Rank, len(l.others))
	for _, e := range l.others {
		ranks[e.Name] = RankOf(l.spec.UID, e.Name)
	}
	slices.SortFunc(l.others, func(a, b Election) int {
		return cmp.Or(cmp.Compare(ranks[a.Name], ranks[b.Name]), cmp.Compare(a.Name, b.Name))
	})
	if found {
		l.st.Elections = len(l.others) + 1
	}
	return found
}

// all returns all elections, the controller's own last.
func (l *look) all() []Election { return append(slices.Clip(l.others), l.own) }

// goOn continues a rollout that is neither blocked nor complete.
func (l *look) goOn() {
	if l.spec.Forgive > l.st.Forgive {
		for i := range l.st.Failures {
			l.st.Failures[i].Forgiven = true
		}
		if l.st.Phase == Degraded {
			l.st.Phase = Progressing
		}
	}
	l.st.Forgive = l.spec.Forgive
	l.st.Step = min(max(l.st.Step, 1), max(len(l.spec.Steps), 1))
	l.follow()
	if l.st.Phase == Promoted || !l.fails() {
		for l.st.Phase != Degraded && l.walk() {
		}
	}
	if l.st.Phase == RolledBack {
		return
	}
	l.tally()
	slices.SortFunc(l.st.Moving, func(a, b Moving) int { return cmp.Compare(a.Election, b.Election) })
	l.complete()
	for _, m := range l.st.Moving {
		l.wakeAt(m.Since.Add(l.spec.AcquireTimeout))
	}
}

// standStill holds the rollout where it is while its group is paused. Nothing moves, so no check is made, and the waits
// for elections on their way begin again afterwards.
func (l *look) standStill() {
	l.st.Moving = nil
	l.st.Message = l.at("the group is paused")
	if l.st.Phase == Progressing || l.st.Phase == Analysing {
		l.st.Phase = Paused
	}
}

// walk carries out the present step. It returns true if that step is over and the next one is due.
func (l *look) walk() (more bool) {
	switch {
	case l.st.Phase == Promoted && l.spec.Paused:
		return false
	case l.st.Phase == Promoted:
		l.grow()
		return false
	case l.spec.Paused:
		l.st.Phase = Paused
		l.st.Message = l.at("paused by an operator")
		return false
	case l.spec.Promote != nil && l.spec.Promote.Full && !l.final():
		l.toStep(len(l.spec.Steps))
		return true
	}
	if done := l.stepDone(); l.st.Phase == RolledBack || !done && !l.passed() {
		return false
	}
	if l.final() {
		l.st.Phase = Promoted
		return true
	}
	l.toStep(l.st.Step + 1)
	return true
}

// stepDone carries out the present step, and says whether all of it is done.
func (l *look) stepDone() bool {
	l.grow() // a pause or an analysis, too, may move elections that earlier steps went on without
	switch step := l.step(); step.Kind() {
	case StepPause:
		l.st.Phase = Paused
		if step.Pause.Duration == 0 {
			l.st.Message = l.at("waits for an operator's word: promote")
			return false
		}
		return l.waited(step.Pause.Duration, "pause")
	case StepAnalysis:
		l.st.Phase = Analysing
		return l.analysed(step.Analysis.For)
	}
	l.st.Phase = Progressing
	if l.rollsBackAbsent() {
		return false
	}
	done := l.settled()
	l.st.Message = l.at(l.progress())
	return done
}

// analysed says whether an analysis has lasted for d while the canary was there. Without a member of the canary it sees nothing of the
// canary's work, so its time begins anew. That is noted once in a while only, since each look that changes the status is a write.
func (l *look) analysed(d time.Duration) bool {
	if l.canaryLives() {
		return l.waited(d, "analysis")
	}
	often := min(d/4, 10*time.Second)
	if !l.now.Before(l.st.StepStarted.Add(often)) {
		l.st.StepStarted = l.now
	}
	l.wakeAt(l.st.StepStarted.Add(often))
	l.st.Message = l.at("the analysis waits: no member of the canary leads or could lead")
	return false
}

// waited says whether the present step has lasted for d; what names the wait for people.
func (l *look) waited(d time.Duration, what string) bool {
	end := At(l.st.StepStarted.Add(d))
	if !l.now.Before(end.Time) {
		return true
	}
	l.wakeAt(end.Time)
	l.st.Message = l.at(what + " until " + end.Format(time.RFC3339))
	return false
}

// passed says whether an operator ended the wait in the present step.
func (l *look) passed() bool { return l.spec.Promote != nil && l.spec.Promote.Step >= l.st.Step }

// final says whether the present step is the last.
func (l *look) final() bool { return l.st.Step >= len(l.spec.Steps) }

func (l *look) step() Step {
	if len(l.spec.Steps) == 0 {
		return Step{SetWeight: 100}
	}
	return l.spec.Steps[l.st.Step-1]
}

func (l *look) toStep(n int) {
	l.st.Step, l.st.StepStarted = n, l.now
	l.tell(Event{Kind: StepBegan})
}

// complete ends a promoted rollout once every member sees that the default source names the canary.
// Not earlier: a member that still sees the old default would take elections back.
func (l *look) complete() {
	if l.st.Phase != Promoted || l.spec.Paused {
		return
	}
	byDefault := l.seen.Default
	switch {
	case l.waiting+l.moving() > 0, !l.canaryLives():
		l.st.Message = "promoted; " + l.progress()
	case !synced(byDefault) || byDefault.Revision != l.spec.Canary:
		l.st.Message = fmt.Sprintf("promoted; complete once the default source says %s (it says %v)", l.spec.Canary, byDefault)
	case len(l.seen.Divided) > 0:
		l.st.Message = "promoted; waiting for " + firstOf(l.seen.Divided) + " to see the same preference"
	default:
		l.over(Complete)
		l.st.Message = "complete: the default source says " + l.spec.Canary
		l.st.Reach, l.st.Moving, l.st.Absent = Reach{}, nil, nil
	}
}

// over notes that the rollout goes no further, and since when.
func (l *look) over(phase Phase) {
	if l.st.Phase != phase {
		l.st.Phase, l.st.StepStarted = phase, l.now
	}
}

// takeBack gives every election back to stable.
func (l *look) takeBack(phase Phase, why string) {
	l.over(phase)
	l.st.Message = why
	l.st.Reach, l.st.Moving, l.st.Absent, l.st.Moved = Reach{}, nil, nil, 0
}

func (l *look) at(what string) string {
	return fmt.Sprintf("step %d of %d: %s", l.st.Step, max(len(l.spec.Steps), 1), what)
}

func (l *look) progress() string {
	text := fmt.Sprintf("%d on their way, %d wait for their turn, %d without a ready member of %s", len(l.st.Moving), l.waiting, len(l.st.Absent), l.spec.Canary)
	if behind := l.seen.Behind; len(l.st.Moving) > 0 && len(behind) > 0 {
		text += "; nothing moves from or to members that see another preference: " + firstOf(behind) + " (primacy status shows it)"
	}
	return text
}

// firstOf returns a text with the first name, and how many more there are.
func firstOf(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

// wakeAt asks to be woken at the first whole millisecond that is not before t.
func (l *look) wakeAt(t time.Time) {
	if t.After(l.now.Time) && (l.wake.IsZero() || t.Before(l.wake.Time)) {
		l.wake = At(t.Add(time.Millisecond - 1))
	}
}

func later(a, b Time) Time {
	if a.Before(b.Time) {
		return b
	}
	return a
}

func earlier(a, b Time) Time {
	if b.Before(a.Time) {
		return b
	}
	return a
}
