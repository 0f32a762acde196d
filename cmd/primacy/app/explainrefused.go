package app

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// refusedLag begins why a member does not go by its configuration as it is written, if it refused that.
const refusedLag = "configuration refused: "

// refusal is what of its written configuration a member refused; empty if it refused nothing.
func refusal(m status.Member) string {
	if why, refused := strings.CutPrefix(m.Lags, refusedLag); refused && m.State == status.Live {
		return why
	}
	return ""
}

// lacksElection says whether a member has no such election, since it refused the configuration that has it. A member that
// takes part creates a missing lock at once.
func (x *explaining) lacksElection(m status.Member) bool {
	return x.election.State == status.Absent && refusal(m) != ""
}

// refusals say which living members of the group refused their configuration, and why: a line for each cause.
func (x *explaining) refusals() (lines []string) {
	who := map[string][]string{}
	var causes []string
	for _, m := range x.report.Members {
		if why := refusal(m); why != "" && m.Group == x.election.Group {
			if who[why] == nil {
				causes = append(causes, why)
			}
			who[why] = append(who[why], view.NameOf(m.Identity))
		}
	}
	for _, why := range causes {
		lines = append(lines, fmt.Sprintf("%s refused the configuration as it is written now: %s", strings.Join(who[why], ", "), why))
	}
	return lines
}

// judgeNone judges an election in which no living member takes part.
func (x *explaining) judgeNone() judgement {
	var refused []string
	who := "those that live"
	for _, m := range x.report.Members {
		switch {
		case m.Group != x.election.Group || m.State != status.Live:
		case x.rules.takesPart(m) && x.lacksElection(m):
			refused = append(refused, view.NameOf(m.Identity))
		default:
			who = ""
		}
	}
	if refused == nil {
		return judgement{verdictStuck, "Nobody leads, and no living member can: none takes part in this election.",
			[]whatIf{{What: "a member starts (primacy status lists all members)"}}}
	}
	return judgement{verdictStuck, fmt.Sprintf("Nobody leads, and no living member can: none takes part in this election, since %s refused the configuration that has it.",
		cmp.Or(who, strings.Join(refused, ", "))),
		[]whatIf{{What: "somebody corrects what the members refuse (the notes below, docs/runbooks/reload-refused.md)"}, {What: "a member starts with that configuration (primacy status lists all members)"}}}
}
