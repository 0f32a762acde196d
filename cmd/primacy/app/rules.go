package app

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/priority"
	"github.com/primacy-dev/primacy/pkg/revisions/controller"
)

// rules are what a configuration says of an election, and the API does not show.
type rules struct {
	policy priority.Policy
	timing record.Timing
	// standDown is that of the group: how long a member that fell has to prove itself at first.
	standDown time.Duration
	// ranged: what is left of a term's range is waited out.
	ranged bool
	// only is the revision whose members alone take part; empty for all.
	only string
}

// rulebook is what is known of the elections of a group beside what the API shows. The zero
// rulebook knows nothing, and supposes the usual policy everywhere.
type rulebook struct {
	// configured: a configuration tells.
	configured bool
	of         map[string]rules
	// scoped are elections that each revision has for itself, by their names without it.
	scoped map[string]rules
}

// unseen is what people are told who gave no configuration.
const unseen = "without --config nobody can see here which policy, minHold, scope or enabled: false an election has; what is said holds for those whose policy puts the preferred revision first"

func rulebookOf(p *config.Process) rulebook {
	b := rulebook{of: map[string]rules{}, scoped: map[string]rules{}}
	if p.Configuration == nil {
		return b
	}
	b.configured = true
	usual := p.Configuration.Timing
	b.of[controller.ElectionName(p.Configuration.Group)] = rules{timing: usual, standDown: usual.StandDown}
	for _, e := range p.Configuration.Elections {
		r := rules{policy: policyOf(p.Configuration, e, func(error) {}), timing: e.Timing, standDown: usual.StandDown, ranged: e.Range}
		if e.Suffix != "" {
			b.scoped[strings.TrimSuffix(e.Name, e.Suffix)] = r
		} else {
			b.of[e.Name] = r
		}
	}
	return b
}

// rules are those of an election, whether the configuration has it or not.
func (b rulebook) rules(election string) rules {
	r, found := b.of[election]
	if !found {
		longest := "" // one scoped election's name may begin another's
		for name, scoped := range b.scoped {
			if revision, is := strings.CutPrefix(election, name+"-"); is && len(name) > len(longest) {
				longest, r = name, scoped
				r.only = revision
			}
		}
	}
	if r.policy == nil { // unknown, or a mistake of the configuration
		r.policy = priority.RevisionLocation{}
	}
	return r
}

// movable are the elections that a rollout moves; see the controller.
func (b rulebook) movable(elections []status.Election) []status.Election {
	return slices.DeleteFunc(slices.Clone(elections), func(e status.Election) bool { return b.stays(e.Name) })
}

// stays says of an election that no rollout moves it.
func (b rulebook) stays(election string) bool {
	r := b.rules(election)
	return r.only != "" || !priority.FollowsRevision(r.policy)
}

// next are the members that would take the lead of an election, each of them as likely, if it
// preferred that; nil if it stays where it is. It is the rule of package machine, as far as a
// look from outside tells: among equals the holder takes whose session it sees first.
func (x rules) next(r status.Report, e status.Election, preferred record.Preferred) (next []status.Member) {
	if preferred.State != record.PreferredSet && preferred.State != record.PreferredUnset || preferred.Pins(e.Holder) {
		return nil // nobody comes before the member that it is pinned to
	}
	holder := priority.Unweighed("")
	if e.Revision != "" {
		holder = priority.Unweighed(record.NewKey(e.Revision, record.Location(e.Location)))
	}
	if i := slices.IndexFunc(r.Members, func(m status.Member) bool { return m.Identity == e.Holder && m.State != status.Ended }); i >= 0 {
		holder = weighed(r.Members[i])
	}
	for _, m := range r.Members {
		if !x.mayLead(m, e) || e.Holder != "" && !priority.Outranks(x.policy, weighed(m), holder, preferred) {
			continue
		}
		if len(next) > 0 {
			switch order := cmp.Or(x.proven(m, r.At).Compare(x.proven(next[0], r.At)), priority.Order(x.policy, weighed(m), weighed(next[0]), preferred)); {
			case order > 0:
				continue
			case order < 0:
				next = nil
			}
		}
		next = append(next, m)
	}
	return next
}

// canarys are the members of the canary that would lead an election once a rollout has it in
// reach; nil if none would.
func (x rules) canarys(r status.Report, e status.Election, canary string) []status.Member {
	if e.Revision == canary {
		e.Holder = "" // the start itself may take it to stable first
	}
	next := x.next(r, e, record.Prefer(canary))
	if len(next) == 0 || next[0].Revision != canary {
		return nil
	}
	return next
}

func identities(members []status.Member) (all []string) {
	for _, m := range members {
		all = append(all, m.Identity)
	}
	return all
}

// mayLead says whether a member takes part, lives and is ready.
func (x rules) mayLead(m status.Member, e status.Election) bool {
	return m.Group == e.Group && m.State == status.Live && m.Ready && !slices.Contains(m.Standing, e.Name) && (x.only == "" || m.Revision == x.only)
}

// proven is when a member that fell will have proven itself; zero for one that has.
func (x rules) proven(m status.Member, now time.Time) time.Time {
	if m.Fallen == 0 {
		return time.Time{}
	}
	if at := m.Since.Add(record.Doubled(x.standDown, m.Fallen-1)); at.After(now) {
		return at
	}
	return time.Time{}
}

func weighed(m status.Member) priority.Candidate {
	return priority.Weighed(record.Member{Identity: m.Identity, Revision: m.Revision, Location: record.Location(m.Location), Weight: m.Weight})
}

// has says whether a ready member takes part that is what is preferred.
func (x rules) has(r status.Report, e status.Election, fits func(status.Member) bool) bool {
	return slices.ContainsFunc(r.Members, func(m status.Member) bool { return x.mayLead(m, e) && fits(m) })
}

// notBefore is until when an election stays where it is although a member is better: it has to
// prove itself, after a fall and for preemptDelay; a term lasts for minHold, and what is taken
// back waits for neither of these two; a range is waited out. Zero where the lead moves at once.
func (x rules) notBefore(e status.Election, next status.Member, blocked string, now time.Time) time.Time {
	at := now
	if proven := x.proven(next, now); proven.After(at) {
		at = proven
	}
	if blocked == "" || blocked != e.Revision {
		at = at.Add(x.timing.PreemptDelay)
		if held := e.Acquired.Add(x.timing.MinHold); e.Holder != "" && held.After(at) {
			at = held
		}
	}
	if x.ranged && e.Holder != "" {
		at = at.Add(x.timing.LeaseDuration - x.timing.RenewInterval) // it was renewed just before
	}
	if at.Sub(now) < time.Second {
		return time.Time{}
	}
	return at.Truncate(time.Second)
}
