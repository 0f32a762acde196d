package app

import (
	"cmp"
	"slices"
	"time"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/priority"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// explanation says why an election is led as it is. The names of its fields in JSON and YAML are stable: fields
// are added, never renamed.
type explanation struct {
	At       time.Time    `json:"at"`
	Election string       `json:"election"`
	Group    string       `json:"group,omitempty"`
	Lock     status.Ref   `json:"lock"`
	State    status.State `json:"state"`
	Verdict  verdict      `json:"verdict"`
	// Summary is the verdict in a sentence or two.
	Summary string `json:"summary"`
	// Leader is who holds the lock; nil if nobody does.
	Leader *leaderShown `json:"leader,omitempty"`
	// Last are the last transitions, as members stored them, oldest first.
	Last []status.Transition `json:"last,omitempty"`
	// Prefers is what the election prefers, and From where that comes from.
	Prefers string `json:"prefers"`
	From    string `json:"from"`
	// Should lists the members of which one should lead, all equally likely.
	Should  []string        `json:"should,omitempty"`
	Members []memberReasons `json:"members"`
	// Changes are what would change the verdict.
	Changes []whatIf `json:"changes,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// verdict says whether an election is led as it should be.
type verdict string

const (
	// verdictRight: somebody leads, as it should be.
	verdictRight verdict = "AsItShouldBe"
	// verdictSoon: not yet, but it will be by itself.
	verdictSoon verdict = "NotYet"
	// verdictStuck: something else must happen first.
	verdictStuck verdict = "Stuck"
)

type leaderShown struct {
	Identity string    `json:"identity"`
	Revision string    `json:"revision,omitempty"`
	Location string    `json:"location,omitempty"`
	Token    uint64    `json:"token,omitempty"`
	Since    time.Time `json:"since,omitzero"`
}

// memberReasons says where a member stands in the election.
type memberReasons struct {
	// Rank is its place in line for the free lock, from 1. Members of one rank are equally likely.
	Rank     int                `json:"rank"`
	Identity string             `json:"identity"`
	Revision string             `json:"revision,omitempty"`
	Location string             `json:"location,omitempty"`
	Weight   int                `json:"weight"`
	State    status.MemberState `json:"state"`
	Ready    bool               `json:"ready"`
	// Standing: its work in this election did not fail lately, and is ready.
	Standing bool `json:"standing"`
	// Lacks is what its work in this election lacks to be ready, as it said last; empty if it is ready or does not say.
	Lacks string `json:"lacks,omitempty"`
	// Sees is the preference that it sees. Differs: another one is stored.
	Sees    string `json:"sees,omitempty"`
	Differs bool   `json:"differs,omitempty"`
	Leads   bool   `json:"leads,omitempty"`
	// Why is the one sentence why it does or does not lead.
	Why string `json:"why"`
}

// whatIf is something that would change the verdict.
type whatIf struct {
	What string `json:"what"`
	// By is when it happens at the latest, if that is only a matter of time.
	By time.Time `json:"by,omitzero"`
}

// facts are everything that an explanation is made of.
type facts struct {
	report   status.Report
	election status.Election
	plan     rollout.Plan
	// planUnknown: pins and rollout cannot be read.
	planUnknown bool
	// planBroken: not all that is stored of pins and rollout can be read. Members go by what they read last.
	planBroken bool
	byDefault  record.Preferred
	// defaultFrom says where the default was read.
	defaultFrom string
	rules       rules
	// heldBy is the other group whose member holds the lock; empty for none.
	heldBy string
	notes  []string
}

// explaining is an explanation in the making.
type explaining struct {
	facts
	preferred record.Preferred
	// holder is the member that holds the lock; nil if its session is not known.
	holder *status.Member
	// lags: the holder does not see the stored preference.
	lags bool
	// better are the first of the members that outrank the holder, by the stored preference. willing are
	// those to which the holder hands over: the holder and they see that preference.
	better, willing []status.Member
	// heldBack are those that would be better if the group were not paused.
	heldBack []status.Member
	// next are the members of which one takes the lock once it is free.
	next []status.Member
}

func (f facts) explain() explanation {
	x := explaining{facts: f, preferred: f.plan.Preferred(f.election.Name, f.byDefault)}
	r, e := f.report, f.election
	if i := slices.IndexFunc(r.Members, func(m status.Member) bool {
		return m.State != status.Ended && m.Identity == e.Holder && m.Group == e.Group
	}); i >= 0 {
		x.holder = &r.Members[i]
	}
	if x.leads() || e.State == status.Foreign {
		x.better = f.rules.next(r, e, x.preferred)
		x.willing, x.heldBack = x.better, x.afterPause()
	}
	x.lags = x.holder != nil && x.differs(*x.holder)
	switch {
	case x.holder == nil || !x.leads():
	case x.lags:
		x.willing = nil
	default:
		x.willing = f.rules.next(x.only(func(m status.Member) bool { return m.Preference == x.holder.Preference }), e, x.preferred)
	}
	x.next = x.successors()
	out := explanation{
		At: r.At, Election: e.Name, Group: e.Group, Lock: e.Ref(), State: e.State,
		Prefers: view.Printable(x.preferred.String()), From: x.from(), Members: x.members(), Notes: slices.Clone(f.notes),
	}
	if e.Holder != "" && e.State != status.Released {
		out.Leader = &leaderShown{e.Holder, e.Revision, e.Location, e.Token, e.Acquired}
	}
	out.Notes = append(out.Notes, x.refusals()...)
	if x.leads() && x.failing() {
		out.Notes = append(out.Notes, x.failed()+": this term may end so, too (docs/runbooks/crash-loop.md)")
	}
	out.Last = e.History[max(0, len(e.History)-2):]
	v := x.judge()
	out.Verdict, out.Summary, out.Changes = v.verdict, v.summary, v.changes
	switch {
	case v.verdict == verdictRight, e.State == status.Claiming && x.heldBy == "":
		out.Should = []string{e.Holder}
	case x.leads() && e.ForcedTo != "":
		out.Should = []string{e.ForcedTo}
	case x.better != nil:
		out.Should = identities(x.better)
	case x.heldBack != nil:
		out.Should = identities(x.heldBack)
	case x.leads():
	default:
		out.Should = identities(x.next)
	}
	return out
}

// leads says whether a member leads, as far as anybody can see from outside.
func (x *explaining) leads() bool {
	return x.election.State == status.Led && !x.election.Stale && x.heldBy == ""
}

// held says whether the lock has a holder that seems to live.
func (x *explaining) held() bool {
	return x.leads() || x.election.State == status.Claiming || x.election.State == status.Foreign
}

// nominee is the member to which the last holder left the lock, if it lives and is ready; empty for none.
func (x *explaining) nominee() string {
	for _, m := range x.living(x.report.Members) {
		if m.Ready && m.Identity == x.election.HandoverTo {
			return m.Identity
		}
	}
	return ""
}

// only is the report with the members for which fits is true.
func (x *explaining) only(fits func(status.Member) bool) status.Report {
	r := x.report
	r.Members = slices.DeleteFunc(slices.Clone(r.Members), func(m status.Member) bool { return !fits(m) })
	return r
}

// successors are the members of which one takes the lock when its holder is gone. Nothing excludes a member from a free lock: who is not ready
// comes after those whom the policy puts beside it, and who stands down leaves a lock alone for a while that was not handed to it. If nobody can
// tell what is preferred, any of them may be first.
func (x *explaining) successors() []status.Member {
	gone := x.election.Holder
	all := x.living(x.only(func(m status.Member) bool { return m.Identity != gone }).Members)
	switch {
	case x.leads():
	case all == nil: // the lock names a member, but not as one that leads
		all = x.notStandingDown(x.living(x.report.Members))
	default:
		all = x.notStandingDown(all)
	}
	all = x.knowing(all)
	if x.preferred.State != record.PreferredSet && x.preferred.State != record.PreferredUnset {
		return all
	}
	return foremost(all, x.before)
}

// before is the order in which members would take the free lock.
func (x *explaining) before(a, b status.Member) int {
	return x.rules.succession(a, b, x.election, x.preferred, x.report.At)
}

// living are the members that live and take part.
func (x *explaining) living(members []status.Member) (all []status.Member) {
	for _, m := range members {
		if m.Group == x.election.Group && m.State == status.Live && x.rules.takesPart(m) && !x.lacksElection(m) {
			all = append(all, m)
		}
	}
	return all
}

// ignores says whether it does not matter to the election which revision is preferred.
func (x *explaining) ignores() bool {
	return x.preferred.Member == "" && (x.rules.onlyRevision != "" || !priority.FollowsRevision(x.rules.policy))
}

// wanted says whether a member is what the election prefers.
func (x *explaining) wanted(identity, revision string) bool {
	if x.preferred.Member != "" {
		return x.preferred.Pins(identity)
	}
	return x.preferred.State != record.PreferredSet || x.ignores() || revision == x.preferred.Revision
}

// whom says what the election prefers, as in "a member of revision 1-9-0".
func (x *explaining) whom() string {
	if x.preferred.Member != "" {
		return "member " + view.Printable(x.preferred.Member)
	}
	return "a member of revision " + view.Printable(x.preferred.Revision)
}

// members explains each member, first in line first.
func (x *explaining) members() []memberReasons {
	var all []status.Member
	for _, m := range x.report.Members {
		if m.Group == x.election.Group && m.State != status.Ended {
			all = append(all, m)
		}
	}
	order := func(a, b status.Member) int {
		return cmp.Or(cmp.Compare(x.obstacles(a), x.obstacles(b)), x.before(a, b))
	}
	slices.SortStableFunc(all, order)
	shown := make([]memberReasons, len(all))
	for i, m := range all {
		shown[i] = memberReasons{
			Rank: i + 1, Identity: m.Identity, Revision: m.Revision, Location: m.Location, Weight: m.Weight, State: m.State,
			Ready: m.Ready, Standing: stands(m, x.election), Lacks: m.Lacks[x.election.Name], Sees: m.Preference, Differs: x.differs(m),
			Leads: x.leads() && m.Identity == x.election.Holder, Why: x.why(m),
		}
		if s := &shown[i]; s.Leads && s.Lacks != "" {
			s.Why += " Its work is not ready for another term: " + s.Lacks + "."
		}
		if i > 0 && order(all[i-1], m) == 0 {
			shown[i].Rank = shown[i-1].Rank
		}
	}
	return shown
}

// obstacles is higher the more stands in the way of a member, whatever the policy says.
func (x *explaining) obstacles(m status.Member) int {
	switch {
	case m.State != status.Live:
		return 3
	case !x.rules.takesPart(m), x.lacksElection(m):
		return 2
	case !x.leads() && x.standsDown(m):
		return 1
	}
	return 0
}

// differs says whether a member sees another preference than the stored one.
func (x *explaining) differs(m status.Member) bool {
	return !x.planUnknown && !x.planBroken && x.byDefault.State != record.PreferredNotSynced && m.State == status.Live && m.Preference != x.plan.Digest(x.byDefault)
}
