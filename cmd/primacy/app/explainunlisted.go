package app

import (
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// knows says whether a member does not say that it cannot know yet who holds the lock. Until a list has shown it the lock, it cannot take it.
// A session has room for a few reasons only, so a member that gives that one elsewhere, and none here, may lack it here, too.
func (x *explaining) knows(m status.Member) bool {
	why, said := m.Lacks[x.election.Name]
	if said || len(m.Lacks) < record.MostLacks || stands(m, x.election) || x.standsDown(m) {
		return why != record.NoList
	}
	for _, elsewhere := range m.Lacks {
		if elsewhere == record.NoList {
			return false
		}
	}
	return true
}

// knowing are those of the members that know who holds the lock; all, if none does.
func (x *explaining) knowing(members []status.Member) []status.Member {
	if known := slices.DeleteFunc(slices.Clone(members), func(m status.Member) bool { return !x.knows(m) }); len(known) > 0 {
		return known
	}
	return members
}

// noneKnows says whether there are members to take the lock, and none of them knows yet who holds it.
func (x *explaining) noneKnows() bool {
	return len(x.next) > 0 && !slices.ContainsFunc(x.next, x.knows)
}

// judgeUnlisted judges an election without a leader of which no member knows who holds the lock. Members ask again by themselves.
func (x *explaining) judgeUnlisted() judgement {
	return judgement{verdictStuck, "Nobody leads, and no member knows yet who holds the lock, since lists of its namespace fail.",
		[]whatIf{{What: "lists pass again: members ask for them all the time, and their logs say why they fail (failing; retrying, with the operation list anew or watch)"},
			{What: "a member starts that lists pass for"}}}
}
