package app

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/cmd/primacy/view"
	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/election/status"
	"github.com/primacy-dev/primacy/pkg/revisions/rollout"
)

// judgement is a verdict with its reasons.
type judgement struct {
	verdict verdict
	summary string
	changes []whatIf
}

// holderName is the holder's name for sentences.
func (x *explaining) holderName() string { return view.NameOf(x.election.Holder) }

// oneOf names members, of which one does something.
func oneOf(members []status.Member) string {
	var names []string
	for _, m := range members {
		names = append(names, view.NameOf(m.Identity))
	}
	if len(names) == 1 {
		return names[0]
	}
	return "one of " + strings.Join(names, ", ")
}

// freeBy is when members may take the lock at the latest.
func (x *explaining) freeBy() time.Time {
	return x.report.FreeBy(x.election, x.rules.waits()).Truncate(time.Second)
}

// judge says whether the election is led as it should be.
func (x *explaining) judge() judgement {
	e, who := x.election, x.holderName()
	switch {
	case x.leads():
		return x.judgeLeader()
	case x.heldBy != "":
		return x.judgeOtherGroup()
	case e.State == status.Foreign:
		return x.judgeForeign()
	case len(x.next) == 0 && e.State != status.Claiming:
		return x.judgeNone()
	case x.preferred.NoTakeover && e.State != status.Claiming:
		return x.judgeWithheld()
	case x.noneKnows() && e.State != status.Claiming:
		return x.judgeUnlisted()
	}
	switch e.State {
	case status.Led:
		return judgement{verdictSoon, fmt.Sprintf("%s holds the lock, and no longer renews it: it seems dead, and others wait until its lease is over.", who),
			[]whatIf{{fmt.Sprintf("%s takes the lock, unless %s renews it after all", x.takers(), who), x.freeBy()}}}
	case status.Claiming:
		return judgement{verdictSoon, fmt.Sprintf("%s claimed the lock from an elector that is not Primacy. It begins no work yet: it %s.", who, e.Reason),
			[]whatIf{{who + " begins its work", x.freeBy()}}}
	case status.Released:
		if x.failing() {
			return x.judgeFailing()
		}
		if at := x.freeBy(); at.After(x.report.At) {
			return judgement{verdictSoon, "Nobody leads. The holder was proved dead, and with onDeath: lease members leave its lock alone for a lease.",
				[]whatIf{{x.takers() + " takes the lock", at}}}
		}
		why := ""
		if e.Reason != "" {
			why = " (" + e.Reason + ")"
		}
		return judgement{verdictSoon, "Nobody leads: the lock is free" + why + ".", []whatIf{{What: x.takers() + " takes the lock, usually within nominateDelay"}}}
	case status.Absent:
		return judgement{verdictSoon, "Nobody leads: no member has created the lock yet.",
			[]whatIf{{What: "a member creates the lock, waits until its watch has shown for one leaseDuration that nobody holds it, and takes it"}, immediate}}
	}
	return x.judgeUnknown()
}

// immediate is what makes members take a new lock without a wait.
var immediate = whatIf{What: "bootstrap: immediate would have members take a new lock at once. It is only for locks that nobody deletes"}

// judgeUnknown judges a lock that names no owner.
func (x *explaining) judgeUnknown() judgement {
	e := x.election
	summary := "Nobody is known to lead: the lock names no owner that can be believed (" + e.Reason + "). Somebody unknown may be at work, so members wait that out."
	switch e.State {
	case status.Waiting:
		summary = "Nobody leads yet: the lock is new. Another one may have been deleted a moment ago while somebody led by it, so members wait until that has certainly ended. A member that has watched for longer, and saw no such lock, need not wait."
	case status.Corrupt:
		summary = "Nobody is known to lead: the lock cannot be read (" + e.Reason + "). Somebody unknown may be at work, so members wait that out, and then repair the lock."
	}
	changes := []whatIf{{x.takers() + " takes the lock, if nobody writes to it meanwhile", x.freeBy()}}
	if e.State == status.Waiting {
		changes = append(changes, immediate)
	}
	return judgement{verdictSoon, summary, changes}
}

// takers are the members of which one takes the lock once it is free.
func (x *explaining) takers() string {
	if to := x.nominee(); to != "" {
		return view.NameOf(to)
	}
	if len(x.next) == 0 {
		return "a member"
	}
	return oneOf(x.next)
}

// judgeLeader judges an election that a member leads.
func (x *explaining) judgeLeader() judgement {
	e, who := x.election, x.holderName()
	switch {
	case e.ForcedTo != "":
		return x.judgeForced()
	case x.preferred.State == record.PreferredNotSynced && x.planBroken && x.byDefault.State != record.PreferredNotSynced:
		return judgement{verdictStuck, fmt.Sprintf("%s leads. Only members can tell who should lead: not all that is stored of pins and the rollout can be read, and of that they go by what they read last, if they have.", who),
			[]whatIf{{What: fmt.Sprintf("configmap %s is corrected", rollout.ObjectName(e.Group))}}}
	case x.preferred.State == record.PreferredNotSynced:
		return judgement{verdictStuck, fmt.Sprintf("%s leads. Nobody can tell who should lead, so the election does not move to a better member: %s.", who, x.from()),
			[]whatIf{{What: "members can read it again: their logs, and primacy status, say what is wrong"}}}
	case len(x.heldBack) > 0:
		return x.judgeHeldBack()
	case len(x.willing) > 0:
		return x.judgeMove()
	case len(x.better) > 0 && x.lags:
		return judgement{verdictStuck, fmt.Sprintf("%s leads, and %s should. %s sees the preference %s, and %s is stored. Until it sees that, it does not hand over.",
			who, oneOf(x.better), who, quoted(x.holder), view.Printable(x.plan.Digest(x.byDefault))) + x.probation(x.better[0]),
			[]whatIf{{What: who + " sees what is stored. After a change that takes about a second. If it lasts, it cannot read what others read (see its log), or " + deaf},
				{What: "somebody asks it through the lock: primacy handover " + e.Name + " --force"}}}
	case len(x.better) > 0:
		better := x.better[0]
		return judgement{verdictStuck, fmt.Sprintf("%s leads, and %s should. %s sees the preference %s and %s sees %s. While they see different preferences, nothing moves between them.",
			who, oneOf(x.better), who, quoted(x.holder), view.NameOf(better.Identity), quoted(&better)) + x.probation(better),
			[]whatIf{{What: "the two see the same preference. After a change that takes about a second. If it lasts, one of them cannot read what the others read (see its log), or " + deaf}}}
	case x.preferred.Drains(e.Holder):
		return x.judgeDrained()
	case !x.wanted(e.Holder, e.Revision):
		return x.judgeUnmet()
	}
	why := "nobody outranks it"
	switch {
	case x.ignores():
		why = fmt.Sprintf("the policy %s does not look at revisions, and nobody outranks it", x.rules.policy)
		if x.rules.onlyRevision != "" {
			why = "this election is for members of revision " + x.rules.onlyRevision + " only, and nobody outranks it"
		}
	case x.preferred.Member != "":
		why = "the election is pinned to it"
	case x.preferred.State == record.PreferredSet:
		why = "it is of the preferred revision, and nobody outranks it"
	}
	if x.preferred.Blocked != "" {
		why += fmt.Sprintf(". Revision %s is blocked: its rollout is %s", view.Printable(x.preferred.Blocked), x.plan.Phase())
	}
	return judgement{verdictRight, fmt.Sprintf("%s leads, as it should: %s.", who, why), x.lapse()}
}

// quoted is the preference that a member sees.
func quoted(m *status.Member) string {
	if m == nil {
		return "(unknown)"
	}
	return m.Preference
}

// lapse says what happens if the leader dies.
func (x *explaining) lapse() []whatIf {
	if len(x.next) == 0 {
		return []whatIf{{What: fmt.Sprintf("%s stops or dies: then nobody leads, since no other member of this election lives", x.holderName())}}
	}
	who, next := x.holderName(), oneOf(x.next)
	if x.noneKnows() {
		return []whatIf{{What: fmt.Sprintf("%s stops or dies: then nobody leads before lists of the lock's namespace pass again", who)}}
	}
	if x.preferred.NoTakeover {
		return []whatIf{{fmt.Sprintf("%s stops or dies: then nobody leads before the pause ends", who), x.plan.Standstill.Until.Time}}
	}
	return []whatIf{{fmt.Sprintf("%s stops: then %s leads at once. If %s has just died instead, %s leads", who, next, who, next), x.freeBy()}}
}

// judgeMove judges an election whose holder will hand over.
func (x *explaining) judgeMove() judgement {
	who, next := x.holderName(), x.willing[0]
	waits := x.rules.delays(x.election, next, x.preferred.Blocked, x.report.At)
	summary, changes := fmt.Sprintf("%s leads, and %s should%s.", who, oneOf(x.willing), x.sinceDrained()), []whatIf(nil)
	at := x.report.At
	longest, why := time.Duration(0), ""
	for _, w := range waits {
		if took := w.until.Sub(at); took > longest {
			longest, why = took, w.why
		}
		at = w.until
		changes = append(changes, whatIf{w.why, w.until.Truncate(time.Second)})
	}
	hands := whatIf{What: fmt.Sprintf("%s stops its work and hands over to %s", who, oneOf(x.willing))}
	switch {
	case len(waits) > 0:
		summary += " The move waits until " + why + "."
		hands.By = at.Add(x.rules.timing.StopGrace).Truncate(time.Second)
	case x.rules.timing.LeaseDuration == 0:
		summary += " The holder hands over at once, unless minHold, preemptDelay or standDown hold it back (--config shows them)."
	default:
		summary += " The move is under way."
		hands.By = at.Add(x.rules.timing.StopGrace).Truncate(time.Second)
	}
	return judgement{verdictSoon, summary, append(changes, hands)}
}

// judgeUnmet judges an election whose holder is not what the election prefers, although nobody outranks it.
func (x *explaining) judgeUnmet() judgement {
	who, whom := x.holderName(), x.whom()
	var lives, drained, ready []status.Member
	for _, m := range x.living(x.report.Members) {
		if x.wanted(m.Identity, m.Revision) {
			lives = append(lives, m)
			switch {
			case x.preferred.Drains(m.Identity):
				drained = append(drained, m)
			case x.rules.mayLead(m, x.election):
				ready = append(ready, m)
			}
		}
	}
	switch {
	case len(lives) == 0:
		return judgement{verdictStuck, fmt.Sprintf("%s leads. It should be led by %s, but there is none that lives.", who, whom),
			append([]whatIf{{What: whom + " starts and is ready"}}, x.lapse()...)}
	case len(ready) > 0:
		return judgement{verdictRight, fmt.Sprintf("%s leads, as it should: by the policy %s, %s does not come before it.", who, x.rules.policy, oneOf(ready)), x.lapse()}
	case len(drained) > 0:
		return x.judgeDrainedPreferred(drained)
	}
	for _, m := range lives {
		if m.Ready && x.standsDown(m) {
			return judgement{verdictSoon, fmt.Sprintf("%s leads. It should be led by %s, but the work of %s failed. It stands down for a while.", who, whom, view.NameOf(m.Identity)),
				[]whatIf{{fmt.Sprintf("%s is in good standing again (after %s, doubled for each failure in a row), if its work is ready then", view.NameOf(m.Identity), x.standDown()), x.stoodDown(m)}}}
		}
	}
	return judgement{verdictStuck, fmt.Sprintf("%s leads. It should be led by %s, but %s.", who, whom, noneReady(lives)),
		append([]whatIf{{What: oneOf(lives) + " becomes ready (" + x.lack(lives) + ")"}}, x.lapse()...)}
}

// noneReady says of members that they are not ready, as in "none of a, b is ready".
func noneReady(members []status.Member) string {
	if len(members) == 1 {
		return oneOf(members) + " is not ready"
	}
	return "n" + oneOf(members) + " is ready"
}

// lack says what the first of the members lacks that says so.
func (x *explaining) lack(members []status.Member) string {
	for _, m := range members {
		if lacks := m.Lacks[x.election.Name]; lacks != "" {
			return "it says that it lacks: " + lacks
		}
	}
	return "its log says what it lacks"
}

// standDown is how long a member stands down after its first failure.
func (x *explaining) standDown() string {
	if x.rules.standDown == 0 {
		return "standDown"
	}
	return fmt.Sprintf("standDown %v", x.rules.standDown)
}

// standsDown says whether a member is in bad standing because its work failed lately, and not only because it is not ready.
func (x *explaining) standsDown(m status.Member) bool {
	until := x.stoodDown(m)
	return !stands(m, x.election) && !x.election.FailedAt(m.Identity).IsZero() && (until.IsZero() || until.After(x.report.At))
}

// stoodDown is when a member whose work failed stands in good standing again at the latest; zero if unknown.
func (x *explaining) stoodDown(m status.Member) time.Time {
	failed := x.election.FailedAt(m.Identity)
	if failed.IsZero() || x.rules.standDown == 0 {
		return time.Time{}
	}
	const most = 1 << 10 // more failures than lengthen the wait
	return failed.Add(record.Doubled(x.rules.standDown, most)).Truncate(time.Second)
}

// judgeForeign judges an election that an elector that is not Primacy holds.
func (x *explaining) judgeForeign() judgement {
	who := x.holderName()
	by := x.freeBy()
	claim := x.report.At.Add(x.rules.timing.PreemptDelay).Truncate(time.Second)
	works := func(claim time.Time) time.Time { // when whoever claims the lock then begins to work
		claimed := x.election
		claimed.State, claimed.Acquired = status.Claiming, claim
		return x.report.FreeBy(claimed, x.rules.waits()).Truncate(time.Second)
	}
	switch {
	case x.rules.shared() && !x.election.Stale && len(x.better) == 0:
		return judgement{verdictRight, fmt.Sprintf("%s leads, which is not Primacy. The configuration shares the lock with such electors, and no member outranks it.", who),
			[]whatIf{{who + " stops renewing the lock. If it has just stopped, members claim the lock", by}}}
	case by.IsZero():
		return judgement{verdictStuck, fmt.Sprintf("%s, which is not Primacy, holds the lock for longer than members wait for.", who),
			[]whatIf{{What: "somebody stops " + who + " and deletes the lock"}}}
	case len(x.better) > 0:
		return judgement{verdictSoon, fmt.Sprintf("%s, which is not Primacy, holds the lock, and %s outranks it.", who, oneOf(x.better)),
			[]whatIf{{oneOf(x.better) + " has outranked it for preemptDelay, and claims the lock", claim}, {fmt.Sprintf("%s begins its work, since %s has certainly stopped", oneOf(x.better), who), works(claim)}}}
	case x.election.Stale && len(x.next) > 0:
		return judgement{verdictSoon, fmt.Sprintf("%s, which is not Primacy, holds the lock, and no longer renews it.", who),
			[]whatIf{{oneOf(x.next) + " claims the lock", by}, {fmt.Sprintf("%s begins its work, since %s has certainly stopped", oneOf(x.next), who), works(by)}}}
	}
	return judgement{verdictStuck, fmt.Sprintf("%s, which is not Primacy, holds the lock. No member outranks it, so it keeps the lock as long as it renews it.", who),
		[]whatIf{{who + " stops renewing the lock. If it has just stopped, members claim the lock", by}, {"the member that claimed it begins its work then", works(by)}}}
}

// from says where the election's preference comes from.
func (x *explaining) from() string {
	pin, pinned := x.plan.Pin(x.election.Name)
	h, handed := x.plan.Handover(x.election.Name)
	switch {
	case x.byDefault.State == record.PreferredNotSynced:
		return "no living member says which default it sees"
	case x.preferred.State == record.PreferredNotSynced:
		return "pins or the rollout cannot be read"
	case handed:
		return fmt.Sprintf("a handover to %s until %s", view.Printable(h.To), h.Until.UTC().Format(time.RFC3339))
	case pinned:
		by := ""
		if pin.By != "" {
			by = " by " + view.Printable(pin.By)
		}
		if !pin.At.IsZero() {
			by += " at " + pin.At.UTC().Format(time.RFC3339)
		}
		return fmt.Sprintf("a pin%s (primacy unpin %s removes it)", by, x.election.Name)
	case x.plan.InForce() && !x.ignores():
		s, phase := x.plan.Rollout, x.plan.Phase()
		what := "the election is not in its reach yet"
		switch {
		case phase.Blocks():
			what = fmt.Sprintf("revision %s is blocked until \"primacy rollout retry\", and the default revision counts again after \"primacy rollout end\"", view.Printable(s.Canary))
		case phase == rollout.Pending:
			what = "no controller has begun it yet"
		case x.preferred.Revision == s.Canary:
			what = "the election is in its reach"
		}
		return fmt.Sprintf("the rollout from %s to %s, which is %s: %s", view.Printable(s.Stable), view.Printable(s.Canary), phase, what)
	}
	from := "the default revision, " + x.defaultFrom
	if x.ignores() {
		from += "; this election does not look at it"
	}
	return from
}

// why is the sentence why a member does or does not lead.
func (x *explaining) why(m status.Member) string {
	e, holder := x.election, x.holderName()
	outranks := e.Holder != "" && m.Identity != e.Holder && x.rules.outranks(m, x.report, e, x.preferred)
	same := func(o status.Member) bool { return o.Identity == m.Identity }
	switch {
	case m.State == status.Unknown:
		return "It cannot lead: " + m.Reason + "."
	case m.Identity == e.Holder && e.State != status.Released:
		return x.whyHolder()
	case m.State == status.Stale:
		return "It cannot lead: it has not renewed its session, and seems dead."
	case x.lacksElection(m):
		return "It takes no part: it refused the configuration that has this election."
	case !x.rules.takesPart(m):
		return "It takes no part: this election is for members of revision " + x.rules.onlyRevision + "."
	case x.preferred.Blocked != "" && m.Revision == x.preferred.Blocked:
		return fmt.Sprintf("It does not lead: its revision %s was taken back by the rollout.", m.Revision)
	case !m.Ready:
		return "It does not lead: it says that it is not ready."
	case x.standsDown(m):
		return fmt.Sprintf("It does not lead: its work failed at %s, and it stands down since then.", e.FailedAt(m.Identity).UTC().Format(time.RFC3339))
	case !x.knows(m):
		return "It cannot lead: " + record.NoList + "."
	case m.Lacks[e.Name] != "":
		return "It does not lead: its work is not ready: " + m.Lacks[e.Name] + "."
	case !stands(m, e):
		return "It does not lead: its work in this election failed lately, or is not ready."
	case x.heldBy != "":
		return "It does not lead: a member of group " + x.heldBy + " holds the lock."
	case !x.held():
		return x.whyFree(m)
	case x.leads() && m.Identity == e.ForcedTo:
		return "It does not lead yet: " + holder + " is asked by force to hand over to it."
	case x.preferred.Drains(m.Identity):
		return "It does not lead: it is drained" + x.drain(m.Identity) + "."
	case slices.ContainsFunc(x.heldBack, same):
		return "It does not lead: the group is paused, so nothing moves to it."
	case x.preferred.State == record.PreferredNotSynced:
		return "It does not lead: nobody can tell who should, so " + holder + " stays."
	case e.State == status.Foreign && !outranks:
		return "It does not lead: " + holder + ", which is not Primacy, holds the lock, and it does not outrank it."
	case !outranks && x.preferred.Pins(e.Holder):
		return "It does not lead: the election is pinned to " + holder + "."
	case !outranks && x.holder != nil && x.rules.order(m, *x.holder, x.preferred, x.report.At) == 0:
		return "It does not lead: it is as good as " + holder + ", and equals never take the lock from each other."
	case !outranks && !x.rules.proven(m, x.report.At).IsZero():
		return fmt.Sprintf("It does not lead: it does not outrank %s. It crashed before, or lost the API server, so until %s it comes after all others.", holder, x.rules.proven(m, x.report.At).UTC().Format(time.RFC3339))
	case !outranks:
		return "It does not lead: it does not outrank " + holder + "."
	case e.State == status.Foreign && slices.ContainsFunc(x.better, same):
		return "It does not lead yet: it outranks " + holder + ", which is not Primacy, and will claim the lock from it."
	case slices.ContainsFunc(x.willing, same) && !x.rules.proven(m, x.report.At).IsZero():
		return fmt.Sprintf("It does not lead yet: it crashed before, so it must first live until %s.", x.rules.proven(m, x.report.At).UTC().Format(time.RFC3339))
	case slices.ContainsFunc(x.willing, same):
		return "It does not lead yet: " + holder + " will hand over."
	case x.lags && slices.ContainsFunc(x.better, same):
		return "It does not lead yet: " + holder + " does not see the stored preference yet." + x.probation(m)
	case x.holder != nil && m.Preference != x.holder.Preference:
		return fmt.Sprintf("It does not lead: it outranks %s, but the two see different preferences.", holder) + x.probation(m)
	case slices.ContainsFunc(x.better, same):
		return "It does not lead yet: " + holder + " still holds the lock."
	}
	return "It does not lead: " + oneOf(append(slices.Clone(x.willing), x.better...)[:1]) + " comes before it."
}

// whyFree is why for a lock that nobody holds, or that its holder seems to have left.
func (x *explaining) whyFree(m status.Member) string {
	isNext := slices.ContainsFunc(x.next, func(o status.Member) bool { return o.Identity == m.Identity })
	switch {
	case x.nominee() == m.Identity:
		return "It is next: the last holder left the lock to it."
	case x.nominee() != "":
		return "It does not lead: the last holder left the lock to " + view.NameOf(x.nominee()) + "."
	case isNext && len(x.next) == 1:
		return "It is next: it takes the lock as soon as that is certainly free."
	case isNext:
		return "It may be next, as soon as the lock is certainly free: others are as good."
	}
	return "It does not lead: " + oneOf(x.next) + " comes before it."
}

// whyHolder is why for the holder of the lock.
func (x *explaining) whyHolder() string {
	switch e := x.election; {
	case e.State == status.Claiming:
		return "It holds the lock, and does not work yet: it " + e.Reason + "."
	case e.State == status.Led && e.Stale:
		return "It holds the lock, but has not renewed it."
	case e.State != status.Led:
		return "The lock names it, but it does not lead: " + e.Reason + "."
	case e.ForcedTo != "":
		return "It leads, and is asked by force to hand over to " + view.NameOf(e.ForcedTo) + "."
	case len(x.heldBack) > 0:
		return "It leads, and keeps the lock while the group is paused."
	case len(x.willing) > 0:
		return "It leads, and will hand over to " + oneOf(x.willing) + "."
	case len(x.better) > 0 && x.lags:
		return "It leads, and does not see the stored preference yet."
	case len(x.better) > 0:
		return "It leads, since no member that outranks it sees the preference that it sees."
	}
	if x.preferred.Drains(x.election.Holder) {
		return "It leads although it is drained: no other member that is ready takes part."
	}
	return "It leads, and no member that is ready outranks it."
}
