package app

import (
	"maps"
	"slices"
	"strings"

	"github.com/primacy-dev/primacy/pkg/election/status"
)

// checkSets looks for revisions whose members have other elections than those of another revision. Members that differ
// from others of their own revision are Member.Differs.
func (x *checking) checkSets(r status.Report) {
	if len(x.rulebook.scoped) > 0 {
		return // such an election has another name in each revision, and only its digest is published
	}
	sets, revisions := map[string]bool{}, map[string]bool{}
	for _, m := range r.Members {
		set, _ := m.Publishes()
		if m.Group == x.group && m.State == status.Live && set != "" && !slices.Contains(m.Differs, "elections") {
			sets[set], revisions[m.Revision] = true, true
		}
	}
	if len(sets) < 2 {
		return
	}
	x.say("members", gradeWarning, "elections that a revision lacks do not move to it; that is as it should be for elections with scope: revision, and for those of one revision only",
		"the members of revisions %s do not all have the same elections", strings.Join(slices.Sorted(maps.Keys(revisions)), ", "))
}

// checkShared looks for locks that a member of another group holds.
func (x *checking) checkShared(r status.Report) {
	for _, e := range r.Elections {
		if e.AlsoOf != "" {
			x.say("led", gradeProblem, anotherLock, "nobody of group %s leads %s: the lock %s is held by %s, a member of group %s: two groups cannot share a lock", e.AlsoOf, e.Name, e.Lock, e.Holder, e.Group)
		}
	}
}
