package app

import (
	"fmt"
	"slices"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// obeysForce says whether the holder hands over to the member to which it is asked to by force: that one lives and is ready.
func (x *explaining) obeysForce() bool {
	return !x.preferred.NoTakeover && slices.ContainsFunc(x.report.Members, func(m status.Member) bool {
		return m.Identity == x.election.ForcedTo && x.rules.mayLead(m, x.election) && !x.preferred.Drains(m.Identity)
	})
}

// judgeForced judges an election whose leader is asked to hand over by force.
func (x *explaining) judgeForced() judgement {
	who, to := x.holderName(), view.NameOf(x.election.ForcedTo)
	summary := fmt.Sprintf("%s leads, and is asked by force to hand over to %s, whatever it sees as preferred.", who, to)
	takesBack := whatIf{What: fmt.Sprintf("somebody takes the request back (primacy handover %s --force --to %s)", x.election.Name, who)}
	if !x.obeysForce() {
		return judgement{verdictStuck, summary + fmt.Sprintf(" It leads on, since %s does not live, is not ready, is drained, or would not take the lock.", to),
			[]whatIf{{What: to + " is ready"}, takesBack}}
	}
	return judgement{verdictSoon, summary,
		[]whatIf{{What: fmt.Sprintf("%s has stopped its work and released the lock. If that takes longer than its stopGrace, its log says why, or it runs a version that does not know forced handovers", who)}, takesBack}}
}
