package app

import (
	"fmt"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// afterPause are the members of which one would lead if the group were not paused; nil if it is not.
func (x *explaining) afterPause() []status.Member {
	if !x.preferred.Paused {
		return nil
	}
	moving := x.preferred
	moving.Paused = false
	return x.rules.next(x.report, x.election, moving)
}

// judgeHeldBack judges an election that would move if the group were not paused.
func (x *explaining) judgeHeldBack() judgement {
	paused := *x.plan.Standstill
	v := verdictStuck
	if !paused.Until.IsZero() {
		v = verdictSoon
	}
	return judgement{v, fmt.Sprintf("%s leads, and %s should%s. The group is paused%s: nothing moves before that ends.", x.holderName(), oneOf(x.heldBack), x.sinceDrained(), view.Paused(paused)),
		append([]whatIf{{"the pause ends (primacy resume ends it at once)", paused.Until.Time}}, x.lapse()...)}
}

// judgeWithheld judges an election that nobody may take while the group is paused.
func (x *explaining) judgeWithheld() judgement {
	paused := *x.plan.Standstill
	return judgement{verdictSoon, fmt.Sprintf("Nobody leads. The group is paused%s, and nobody takes a lock before that ends.", view.Paused(paused)),
		[]whatIf{{"the pause ends (primacy resume ends it at once); then " + x.takers() + " takes the lock once it is certainly free", paused.Until.Time}}}
}

// judgeDrained judges an election that a drained member leads because no other one can.
func (x *explaining) judgeDrained() judgement {
	return judgement{verdictStuck, fmt.Sprintf("%s leads although it is drained%s, because no other ready member takes part, and somebody must lead.", x.holderName(), x.drain(x.election.Holder)),
		append([]whatIf{{What: "another member that is not drained is ready"}, {What: "primacy drain " + x.holderName() + " --undo"}}, x.lapse()...)}
}

// judgeDrainedPreferred judges an election whose holder is not preferred, while these members would be, were they not drained.
func (x *explaining) judgeDrainedPreferred(drained []status.Member) judgement {
	var says []string
	var changes []whatIf
	for _, m := range drained {
		says = append(says, view.NameOf(m.Identity)+" is drained"+x.drain(m.Identity))
		changes = append(changes, whatIf{What: "primacy drain " + view.NameOf(m.Identity) + " --undo"})
	}
	return judgement{verdictStuck, fmt.Sprintf("%s leads. It should be led by %s, but %s.", x.holderName(), x.whom(), strings.Join(says, ", and ")),
		append(changes, x.lapse()...)}
}

// sinceDrained says that the holder is drained, as the end of a sentence; empty if it is not.
func (x *explaining) sinceDrained() string {
	if !x.preferred.Drains(x.election.Holder) {
		return ""
	}
	return ": " + x.holderName() + " is drained" + x.drain(x.election.Holder)
}

// drain says who drained a member, and since when, as in " by eve since 2026-11-20T08:00:00Z".
func (x *explaining) drain(identity string) string {
	d, _ := x.plan.DrainOf(identity)
	return strings.TrimPrefix(view.Drained(d), view.Printable(d.Member)+" is drained")
}

// probation says that a member crashed before and must yet prove itself, as a further sentence; empty if it need not.
func (x *explaining) probation(m status.Member) string {
	until := x.rules.proven(m, x.report.At)
	if until.IsZero() {
		return ""
	}
	return fmt.Sprintf(" %s crashed before, or lost the API server, so it must also live until %s first, and comes after all others until then.", view.NameOf(m.Identity), until.UTC().Format(time.RFC3339))
}
