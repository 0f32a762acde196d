package app

import "github.com/primacy-dev/primacy/pkg/election/status"

// checkSets looks for revisions whose members have other elections than those of another revision.
func (x *checking) checkSets(r status.Report) {
	if unlike := x.unlikeSets(r); unlike != "" {
		x.say("members", gradeWarning, lacksOf+"; that is as it should be for elections with scope: revision, and for those of one revision only", "%s", unlike)
	}
}

// checkShared looks for locks that a member of another group holds.
func (x *checking) checkShared(r status.Report) {
	for _, e := range r.Elections {
		if e.AlsoOf != "" {
			x.say("led", gradeProblem, anotherLock, "nobody of group %s leads %s: the lock %s is held by %s, a member of group %s: two groups cannot share a lock", e.AlsoOf, e.Name, e.Lock, e.Holder, e.Group)
		}
	}
}
