package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
)

// The API does not show the scope of an election. Of its elections a member publishes only a digest of their names. So without a
// configuration a command goes by names: elections with scope: revision end in the revision of their holders.

// outside says why a member takes no part in an election, or seems to take none; empty if it takes part, as far as we know.
func (s *steerCommand) outside(e status.Election, m status.Member) string {
	host := record.HostOf(m.Identity)
	switch x := s.rulebook.rules(e.Name); {
	case !x.takesPart(m):
		return host + " takes no part: this election is for members of revision " + x.onlyRevision
	case !s.rulebook.has(e.Name) && s.unlike(e, m) && m.Revision != s.holderOf(e).Revision && strings.HasSuffix(e.Name, "-"+s.holderOf(e).Revision):
		return fmt.Sprintf("%s seems to take no part: by its name, this election is for members of revision %s, and %s and %s do not have the same elections (--config says which elections have scope: revision)",
			host, s.holderOf(e).Revision, host, view.NameOf(e.Holder))
	}
	return ""
}

// unlike says whether a member has other elections than the holder. A configuration does not say which elections a member of
// another revision has.
func (s *steerCommand) unlike(e status.Election, m status.Member) bool {
	ours, _ := s.holderOf(e).Publishes()
	theirs, _ := m.Publishes()
	return (!s.rulebook.hasScoped() || !s.rulebook.has(e.Name)) && ours != "" && theirs != "" && ours != theirs
}

// hasScoped says whether the configuration has elections with scope: revision. Such an election has another name in each
// revision, so the digests of revisions differ although nothing is amiss.
func (b rulebook) hasScoped() bool { return len(b.scoped) > 0 }

// unlikeSets says which revisions have members with different elections; empty if that does not show.
// Members that differ from others of their own revision are Member.Differs.
func (g *groupCommand) unlikeSets(r status.Report) string {
	if g.rulebook.hasScoped() {
		return ""
	}
	sets, revisions := map[string]bool{}, map[string]bool{}
	for _, m := range r.Members {
		set, _ := m.Publishes()
		if m.Group == g.group && m.State == status.Live && set != "" && !slices.Contains(m.Differs, "elections") {
			sets[set], revisions[m.Revision] = true, true
		}
	}
	if len(sets) < 2 {
		return ""
	}
	return fmt.Sprintf("the members of revisions %s do not all have the same elections", strings.Join(slices.Sorted(maps.Keys(revisions)), ", "))
}

// unlikeNote tells people who are about to move elections to another revision that it may lack some of them; empty if that does not show.
func (g *groupCommand) unlikeNote(r status.Report) string {
	note := g.unlikeSets(r)
	if note == "" {
		return ""
	}
	note += ": " + lacksOf
	if !g.rulebook.configured {
		note += " (--config says whether that is for elections with scope: revision)"
	}
	return note
}

// crosses says whether an election moves from one revision to another.
func (s *steerCommand) crosses(m movement) bool {
	revision := func(identity string) string {
		i := slices.IndexFunc(s.report.Members, func(m status.Member) bool { return m.Identity == identity })
		if i < 0 {
			return ""
		}
		return s.report.Members[i].Revision
	}
	return !m.Stays && !m.Forced && m.Holder != "" && revision(m.Candidates[0]) != revision(m.Holder)
}

// lacksOf is what follows from unlikeSets.
const lacksOf = "elections that a revision lacks do not move to it"

// holderOf is the member that holds the election; zero if the API does not show it.
func (s *steerCommand) holderOf(e status.Election) status.Member {
	for _, m := range s.report.Members {
		if m.Identity == e.Holder && m.Group == s.group {
			return m
		}
	}
	return status.Member{}
}

// taking is the report with only the members that take part in the election, as far as we know.
func (s *steerCommand) taking(e status.Election) status.Report {
	r := s.report
	r.Members = slices.DeleteFunc(slices.Clone(r.Members), func(m status.Member) bool { return s.outside(e, m) != "" })
	return r
}

// living is the member of the host that lives; of several, one that is ready. It is zero if none does.
func (s *steerCommand) living(host string) (found status.Member) {
	for _, m := range s.report.Members {
		if m.Group == s.group && m.State == status.Live && record.HostOf(m.Identity) == host && (found.Identity == "" || m.Ready && !found.Ready) {
			found = m
		}
	}
	return found
}
