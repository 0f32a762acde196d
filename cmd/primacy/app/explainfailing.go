package app

import (
	"fmt"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/status"
)

// failing says whether the work of every living member that takes part failed lately. The lock's history has room for the
// last few failures only, so one that it shows is enough.
func (x *explaining) failing() bool {
	shown := false
	for _, m := range x.living(x.report.Members) {
		down := x.standsDown(m)
		if stands(m, x.election) || !down && (!m.Ready || m.Lacks[x.election.Name] != "") {
			return false
		}
		shown = shown || down
	}
	return shown
}

// failed says that the work of every member that takes part failed, and when it did so last.
func (x *explaining) failed() string {
	var last time.Time
	for _, m := range x.living(x.report.Members) {
		if at := x.election.FailedAt(m.Identity); at.After(last) {
			last = at
		}
	}
	return "the work of every living member that takes part failed, the last time at " + last.UTC().Format(time.RFC3339)
}

// judgeFailing judges a free lock whose election has no member with work that lasts. No session says when its member tries again.
func (x *explaining) judgeFailing() judgement {
	return judgement{verdictStuck, fmt.Sprintf("Nobody leads: %s. It is tried again, at growing intervals, but that does not mend it.", x.failed()),
		[]whatIf{{What: "somebody mends what makes the work fail: the members' logs say how it ended (docs/runbooks/crash-loop.md)"}, {What: "a member starts whose work does not fail"}}}
}

// notStandingDown are those of the members that need not pause before they take a free lock; all, if each of them must.
func (x *explaining) notStandingDown(members []status.Member) []status.Member {
	if others := slices.DeleteFunc(slices.Clone(members), x.standsDown); len(others) > 0 {
		return others
	}
	return members
}
