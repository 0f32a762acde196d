package app

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/config"
	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/priority"
	"github.com/primacy-dev/primacy/pkg/revisions/controller"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// rules are the parts of an election's configuration that the API does not show.
type rules struct {
	policy priority.Policy
	timing record.Timing
	// standDown is how long a member must prove itself after its first fall; it is the same for the whole
	// group.
	standDown time.Duration
	// ranged: a successor waits for the end of the last range.
	ranged bool
	// foreign are the electors that are not Primacy, and may hold the lock.
	foreign election.Foreigners
	// onDeathLease: the lock of a holder that was proved dead is left alone for a lease.
	onDeathLease bool
	// sharedWith are the electors that are not Primacy and may hold the lock, too.
	sharedWith config.SharedWith
	// onlyRevision is the revision whose members take part; empty for all.
	onlyRevision string
}

// rulebook holds the rules of a group's elections. The zero rulebook has no rules, and supposes the
// default policy for every election.
type rulebook struct {
	// configured: the rules come from a configuration.
	configured bool
	of         map[string]rules
	// scoped are the rules of elections of scope: revision, by their names without the revision.
	scoped map[string]rules
}

// unseen is the note for people who gave no configuration.
const unseen = "the API does not show policy, minHold, scope and enabled of elections; this output supposes a policy that puts the preferred revision first (give --config to use the real ones)"

func rulebookOf(p *config.Process) rulebook {
	b := rulebook{of: map[string]rules{}, scoped: map[string]rules{}}
	if p.Configuration == nil {
		return b
	}
	b.configured = true
	usual := p.Configuration.Timing
	b.of[controller.ElectionName(p.Configuration.Group)] = rules{timing: usual, standDown: usual.StandDown}
	for _, e := range p.Configuration.Elections {
		r := rules{policy: policyOf(p.Configuration, e, func(error) {}), timing: e.Timing, standDown: usual.StandDown, ranged: e.Range, foreign: foreigners(e.Lock), sharedWith: e.Lock.SharedWith, onDeathLease: e.OnDeath == config.OnDeathLease}
		if e.Suffix != "" {
			b.scoped[strings.TrimSuffix(e.Name, e.Suffix)] = r
		} else {
			b.of[e.Name] = r
		}
	}
	return b
}

// rules are the rules of an election, whether the configuration has the election or not.
func (b rulebook) rules(election string) rules {
	r, found := b.of[election]
	if !found {
		longest := "" // one scoped election's name may begin another's
		for name, scoped := range b.scoped {
			if revision, is := strings.CutPrefix(election, name+"-"); is && len(name) > len(longest) {
				longest, r = name, scoped
				r.onlyRevision = revision
			}
		}
	}
	if r.policy == nil { // unknown, or a mistake of the configuration
		r.policy = priority.RevisionLocation{}
	}
	return r
}

// has says whether the configuration has the election, for some revision.
func (b rulebook) has(election string) bool {
	_, has := b.of[election]
	for name := range b.scoped {
		has = has || strings.HasPrefix(election, name+"-")
	}
	return has
}

// movable are the elections that a rollout moves; see the controller.
func (b rulebook) movable(elections []status.Election) []status.Election {
	return slices.DeleteFunc(slices.Clone(elections), func(e status.Election) bool { return b.stays(e.Name) })
}

// shared says whether electors that are not Primacy may hold the lock, too.
func (x rules) shared() bool {
	return x.sharedWith == config.SharedWithClientGo || x.sharedWith == config.SharedWithIstio
}

// stolen are the elections that a rollout would move although Istio's electors share their locks, sorted. Those know
// nothing of rollouts, and steal the lock back for their own default revision at each step.
func (b rulebook) stolen(p rollout.Plan) []string {
	var names []string
	for name, r := range b.of {
		if pin, pinned := p.Pin(name); r.sharedWith == config.SharedWithIstio && !b.stays(name) && (!pinned || pin.Revision == "") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// stays says whether no rollout moves the election.
func (b rulebook) stays(election string) bool {
	r := b.rules(election)
	return r.onlyRevision != "" || !priority.FollowsRevision(r.policy)
}

// next are the members of which one would take the lead of an election under the given preference, all
// equally likely; nil if the holder stays. It follows the rule of package machine as far as we can see
// from outside: among equals the holder chooses the member whose session it sees first.
func (x rules) next(r status.Report, e status.Election, preferred record.Preferred) (next []status.Member) {
	e = freed(e)
	if preferred.State != record.PreferredSet && preferred.State != record.PreferredUnset || preferred.Pins(e.Holder) && !preferred.Drains(e.Holder) {
		return nil // no member outranks the member to which the election is pinned
	}
	for _, m := range r.Members {
		if x.mayLead(m, e) && (e.Holder == "" || x.outranks(m, r, e, preferred)) {
			next = append(next, m)
		}
	}
	return foremost(next, func(a, b status.Member) int { return x.order(a, b, preferred, r.At) })
}

// foremost are those members before whom no other one comes.
func foremost(members []status.Member, order func(a, b status.Member) int) (first []status.Member) {
	for _, m := range members {
		if len(first) > 0 {
			switch o := order(m, first[0]); {
			case o > 0:
				continue
			case o < 0:
				first = nil
			}
		}
		first = append(first, m)
	}
	return first
}

// freed is an election as members see it who may take its lock: the lock still names a holder whose session has ended.
func freed(e status.Election) status.Election {
	if e.State == status.Released {
		e.Holder, e.Revision, e.Location = "", "", ""
	}
	return e
}

// outranks says whether a member outranks the holder of an election.
func (x rules) outranks(m status.Member, r status.Report, e status.Election, preferred record.Preferred) bool {
	holder := priority.Unweighed("")
	if e.Revision != "" {
		holder = priority.Unweighed(record.NewKey(e.Revision, record.Location(e.Location)))
	}
	if i := slices.IndexFunc(r.Members, func(m status.Member) bool { return m.Identity == e.Holder && m.State != status.Ended }); i >= 0 {
		holder = weighed(r.Members[i])
	}
	return priority.Outranks(x.policy, weighed(m), holder, preferred)
}

// order is negative if a comes before b to lead: first who has proven itself earlier, then by the policy.
func (x rules) order(a, b status.Member, preferred record.Preferred, now time.Time) int {
	return cmp.Or(x.proven(a, now).Compare(x.proven(b, now)), priority.Order(x.policy, weighed(a), weighed(b), preferred))
}

// succession is negative if a comes before b as the successor of a holder that is gone (rule succession): readiness and standing decide only
// among those whom the policy does not tell apart.
func (x rules) succession(a, b status.Member, e status.Election, preferred record.Preferred, now time.Time) int {
	return cmp.Or(x.order(a, b, preferred, now), cmp.Compare(unfit(a, e), unfit(b, e)))
}

// unfit is higher the less a member is fit to lead an election: readiness counts before standing.
func unfit(m status.Member, e status.Election) (n int) {
	if !m.Ready {
		n += 2
	}
	if !stands(m, e) {
		n++
	}
	return n
}

// canarys are the members of the canary that would lead an election once a rollout has it in
// reach; nil if none would. The plan says which members are drained.
func (x rules) canarys(r status.Report, e status.Election, plan rollout.Plan, canary string) []status.Member {
	if e.Revision == canary {
		e.Holder = "" // the start itself may move the election to stable first
	}
	preferred := record.Prefer(canary)
	preferred.Drained = plan.DrainedHosts()
	next := x.next(r, e, preferred)
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

// mayLead says whether a member takes part in the election, is live and is ready.
func (x rules) mayLead(m status.Member, e status.Election) bool {
	return m.Group == e.Group && m.State == status.Live && m.Ready && stands(m, e) && x.takesPart(m)
}

// waits are the settings that say how long members wait for each other, and for others.
func (x rules) waits() status.Waits {
	return status.Waits{Timing: x.timing, Foreign: x.foreign, OnDeathLease: x.onDeathLease}
}

// takesPart says whether an election is open to a member's revision.
func (x rules) takesPart(m status.Member) bool {
	return x.onlyRevision == "" || m.Revision == x.onlyRevision
}

// stands says whether a member's work in an election has not failed lately, and is ready.
func stands(m status.Member, e status.Election) bool {
	return record.Member{Standing: m.Standing}.StandsFor(e.Name)
}

// proven is when a member that fell will have proven itself; zero if it did not fall, or has already proven itself.
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

// has says whether a ready member for which fits is true takes part in the election.
func (x rules) has(r status.Report, e status.Election, fits func(status.Member) bool) bool {
	return slices.ContainsFunc(r.Members, func(m status.Member) bool { return x.mayLead(m, e) && fits(m) })
}

// notBefore is the earliest time when an election moves to a better member; zero for at once.
func (x rules) notBefore(e status.Election, next status.Member, blocked string, now time.Time) time.Time {
	waits := x.delays(e, next, blocked, now)
	if len(waits) == 0 || waits[len(waits)-1].until.Sub(now) < time.Second {
		return time.Time{}
	}
	return waits[len(waits)-1].until.Truncate(time.Second)
}

// delay is a wait before a move: until what, and when that is.
type delay struct {
	why   string
	until time.Time
}

// delays are the waits before an election moves to a better member, in the order in which they end. A
// member that fell must first prove itself. It must then stay the better one for preemptDelay, and
// the holder's term must be minHold old; neither applies if the holder's revision is blocked. If the
// election has ranges, the holder's present range must be over, too.
func (x rules) delays(e status.Election, next status.Member, blocked string, now time.Time) (all []delay) {
	at, holder, better := now, view.NameOf(e.Holder), view.NameOf(next.Identity)
	wait := func(until time.Time, why string) {
		if until.After(at) {
			at = until
			all = append(all, delay{why, at})
		}
	}
	wait(x.proven(next, now), better+" has lived for standDown, since it crashed before")
	if e.Holder != "" && (blocked == "" || blocked != e.Revision) { // nobody keeps a free lock back
		wait(at.Add(x.timing.PreemptDelay), better+" has been the better member for preemptDelay")
		wait(e.Acquired.Add(x.timing.MinHold), holder+"'s term is minHold old")
	}
	if x.ranged && e.Holder != "" {
		wait(at.Add(x.timing.LeaseDuration-x.timing.RenewInterval), holder+"'s range of time is over") // the last renewal is at most one interval old
	}
	return all
}
