package machine

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// Taking a lock from an elector that is not ours (rule claim-and-wait). Such an elector notices the loss
// only when its next write is rejected, and one of client-go works on until its renewDeadline. So we first
// write a claim to the lock, which names the elector that we took it from. Our term starts only when that
// elector has certainly stopped. The claim stays in the record, so a successor of the claimer waits as
// well. Nobody releases the lock meanwhile, since another foreign elector would take it.

// foreign is what this member knows of foreign electors, those that are not ours.
type foreign struct {
	// suspects are the foreign electors that may still be at work, the latest last (rule claim-and-wait).
	// Some may have stopped by now.
	suspects []suspect
	// claimed is the last claim that we wrote, and heard the last one that a record of ours carried.
	claimed record.Claim
	heard   heard
	// claimsLost counts the claims that a foreign elector overwrote since our last term.
	claimsLost int
	// robbed: a foreign elector took the lock from a member of ours without waiting, or a stranger put an earlier record in place
	// of that member's, or the lock lost its owner. robbed is until when that member may be at work.
	robbed record.Instant
	// outrankedSince is when we began to outrank the live foreign holder; zero while we do not.
	outrankedSince record.Instant
}

// noForeigners is shared by all locks on which no foreign elector was ever seen, nearly all there are.
// Nobody writes to it.
var noForeigners = &foreign{}

// isNothing says whether there is nothing to keep.
func (f *foreign) isNothing() bool {
	return len(f.suspects) == 0 && f.claimed == record.Claim{} && f.heard == heard{} && f.claimsLost == 0 && f.robbed == 0 && f.outrankedSince == 0
}

// left is what a machine leaves to the one that continues it.
func (f *foreign) left() foreign {
	return foreign{suspects: f.suspects, heard: f.heard, robbed: f.robbed}
}

// kept is f for the machine that continues another one.
func (f foreign) kept() *foreign {
	if f.isNothing() {
		return noForeigners
	}
	f.suspects = slices.Clone(f.suspects)
	return &f
}

// foreigners is this step's own copy of what is known of foreign electors, to be changed.
func (s *step) foreigners() *foreign {
	if !s.foreignersCopied {
		known := *s.foreign
		s.foreign, s.foreignersCopied = &known, true
	}
	return s.foreign
}

// notOutranking notes that we do not outrank a live foreign holder now.
func (s *step) notOutranking() {
	if s.foreign.outrankedSince != 0 {
		s.foreigners().outrankedSince = 0
	}
}

// unheard forgets the claim in heard.
func (s *step) unheard() {
	if s.foreign.heard != (heard{}) {
		s.foreigners().heard = heard{}
	}
}

// claims notes the claim that a write of ours carries; nil for none.
func (s *step) claims(c *record.Claim) {
	if c != nil {
		s.foreigners().claimed = *c
	}
}

// wonBack notes that our term begins: no claim of ours was overwritten since.
func (s *step) wonBack() {
	if s.foreign.claimsLost != 0 {
		s.foreigners().claimsLost = 0
	}
}

// worksUntil notes that a member of ours that lost its lock to a stranger, a foreign elector or a deletion may be at work until the
// instant at. It ignores an instant that is past.
func (s *step) worksUntil(at record.Instant) {
	if s.now < at {
		s.foreigners().robbed = max(s.foreign.robbed, at)
	}
}

// worked forgets the wait that putBack set, once it is over, while the lock is another's. Thousands of machines see a lock taken by
// one that had waited a moment longer than they.
func (s *step) worked() {
	switch at := s.foreign.robbed; {
	case at == 0 || s.Lock.Owner != Other:
	case s.now < at:
		s.wakeAt(at)
	default:
		s.foreigners().robbed = 0
	}
}

// robbedUntil is until when a member that a stranger or a foreign elector robbed may be at work; zero for nobody.
func (f *foreign) robbedUntil() record.Instant { return f.robbed }

// suspect is a foreign elector that may still be at work, described as a claim on its lock would.
type suspect struct {
	record.Claim
	// at is when we first saw the claim that names the elector. If we saw the elector itself, at is when it may
	// have renewed last: unseen after we first saw its last renewal.
	at record.Instant
	// told: we know the elector only from a claim, and never saw it hold the lock. by is the token of the record that told of it.
	told bool
	by   record.Token
	// released: the elector has stopped. But if it starts again under the same name, it may still take the
	// lock for its own, and blank the lock when it is cancelled.
	released bool
	// late: its last renewal came long after the one before.
	late bool
	// nameless: it stands for electors whose names we do not know. An elector that has its name is another one.
	nameless bool
}

// maxSuspects bounds the memory of foreign electors that held the lock one after another.
const maxSuspects = 8

// suspect remembers a foreign elector that we saw just now, itself or in a claim.
func (s *step) suspect(now suspect) {
	if now.at == 0 {
		now.at = s.now
	}
	same := func(o suspect) bool { return o.Identity == now.Identity && o.nameless == now.nameless }
	others := s.remembered(now.Duration)
	if i := slices.IndexFunc(others, same); i >= 0 && s.now < s.stopped(others[i]) {
		now.at = max(now.at, others[i].at)
		if now.told { // a claim that is shown late does not undo what we saw since
			now.Duration, now.told, now.by = max(now.Duration, others[i].Duration), others[i].told, max(now.by, others[i].by)
		}
	}
	others = slices.DeleteFunc(others, same)
	if len(others) >= maxSuspects {
		others = []suspect{s.asOne(others)}
	}
	s.foreigners().suspects = append(others, now)
}

// asOne is one suspect in place of several: it works as long as the slowest of them, and whatever we hear of
// any single elector, we do not take asOne's suspect to have stopped.
func (s *step) asOne(several []suspect) suspect {
	one := suspect{Claim: record.Claim{Identity: "several"}, at: s.now, told: true, released: true, nameless: true}
	for _, o := range several {
		one.Duration, one.at, one.by = max(one.Duration, o.Duration), max(one.at, o.at), max(one.by, o.by)
		one.told, one.released = one.told && o.told, one.released && o.released
	}
	return one
}

// lasting is a copy of the suspects that may still be at work.
func (s *step) lasting() []suspect {
	return slices.DeleteFunc(slices.Clone(s.foreign.suspects), func(o suspect) bool { return s.now >= s.stopped(o) })
}

// remembered is a copy of the suspects that matter to what we are shown now of an elector with this duration. We may be shown it late: a
// suspect that has stopped by now may have blanked that elector's lock just before that, and the elector may have renewed until then. So we
// remember a suspect until such an elector has stopped, too. A suspect that released writes nothing more once it has stopped.
func (s *step) remembered(duration time.Duration) []suspect {
	wait := s.observer().ObserverWait(s.cfg.Foreign.StopsAfter(s.cfg.Timing.LeaseDuration, duration))
	return slices.DeleteFunc(slices.Clone(s.foreign.suspects), func(o suspect) bool {
		over := s.stopped(o)
		if !o.released {
			over = over.Add(wait)
		}
		return s.now >= over
	})
}

// stopped is when a suspect has certainly stopped.
func (s *step) stopped(o suspect) record.Instant {
	return o.at.Add(s.observer().ObserverWait(s.cfg.Foreign.StopsAfter(s.cfg.Timing.LeaseDuration, o.Duration)))
}

// WaitedOut is how long members wait for a lock that has no owner, and that such an elector may hold. lasts is the longest
// duration that its record showed.
func (f Foreigners) WaitedOut(own, lasts time.Duration) time.Duration {
	return max(own, min(lasts, record.MaxLeaseDuration), f.StopsAfter(own, lasts))
}

// claimOver is when all suspects have certainly stopped.
func (s *step) claimOver() record.Instant {
	var over record.Instant
	for _, o := range s.foreign.suspects {
		if !o.released {
			over = max(over, s.stopped(o))
		}
	}
	return over
}

func (s *step) claimLasts() bool { return s.now < s.claimOver() }

// claim is the claim that our record carries while suspects may be at work. It names the last of them, with
// the duration of the slowest, and stays the same until the wait is over.
func (s *step) claim() *record.Claim {
	last := s.holderClaim(s.Lock.Record) // we may have forgotten it, since history came late; then it has certainly stopped
	at := slices.DeleteFunc(slices.Clone(s.foreign.suspects), func(o suspect) bool { return o.released })
	if len(at) > 0 {
		last = at[len(at)-1].Claim
	}
	for _, o := range at {
		if s.now < s.stopped(o) {
			last.Duration = max(last.Duration, o.Duration)
		}
	}
	if s.foreign.claimed.Identity == last.Identity && s.foreign.claimed.Transitions == last.Transitions {
		last.Duration = max(last.Duration, s.foreign.claimed.Duration)
	}
	return &last
}

// holderClaim is the claim on the lock of the foreign elector that r shows as its holder.
func (s *step) holderClaim(r *record.Record) record.Claim {
	return record.Claim{Identity: r.Holder, Transitions: r.Transitions, Duration: max(foreignDuration(r), s.cfg.Timing.LeaseDuration)}
}

// claimOfOurs is the claim that the record must carry while we hold the lock. There is none during a term,
// which begins only when all suspects have stopped. We never release a record with a claim.
func (s *step) claimOfOurs() *record.Claim {
	if !s.claimLasts() {
		return nil
	}
	return s.claim()
}

// seeForeign notes that a foreign elector wrote r as the holder. before is the record that we knew of the
// same object; nil if none.
func (s *step) seeForeign(r, before *record.Record) {
	s.Lock.shared = true
	s.seeLeftoverClaim(r, before)
	s.seeLeftoverMark(r, before)
	if before != nil && isForeignPutBack(before, r) {
		s.suspectUnseen(s.now)
	}
	s.suspect(suspect{
		Claim: s.holderClaim(r),
		at:    s.now.Add(s.observer().ObserverWait(unseen(r))),
		late:  before == nil && s.wasLate(r.Holder) || before != nil && before.Holder == r.Holder && isLate(before, r),
	})
}

// unseen is for how long after a renewal the elector may renew again without anybody seeing it. A ConfigMap's
// record has its times in whole seconds. So a second renewal within the same second writes the same bytes: the
// API server stores nothing, but the elector counts from it. A Lease has its times in microseconds.
func unseen(r *record.Record) time.Duration {
	if r.Renewed.Nanosecond() != 0 {
		return 0
	}
	return time.Second
}

// seeClaim notes the claim in a record that one of us wrote, or that the record has none. Call it for new
// beats only: what a stranger edits afterwards does not count.
func (s *step) seeClaim(r *record.Record, v record.Version) {
	if s.writes.first != 0 && s.ownerOf(r, v.UID) == Mine && r.Mark.Beat >= s.writes.first {
		// We know what we wrote; a stranger may have edited the record before we saw it.
		if s.claimLasts() {
			s.foreigners().heard = heard{claim: s.foreign.claimed, uid: v.UID}
		}
		return
	}
	if r.Claim == nil {
		// The writer knew that every elector that a claim named has stopped. We wait out the electors that
		// we have seen ourselves, on our own clock. A record of before the claim, which a stranger put back, tells nothing.
		told := func(o suspect) bool { return o.told && r.Token >= o.by }
		if slices.ContainsFunc(s.foreign.suspects, told) {
			s.foreigners().suspects = slices.DeleteFunc(slices.Clone(s.foreign.suspects), told)
		}
		s.unheard()
		return
	}
	now := heard{claim: *r.Claim, uid: v.UID}
	switch {
	case s.shownUnder(*r.Claim, v):
		// We saw the elector's last renewal ourselves.
	case s.foreign.heard.uid == now.uid && s.foreign.heard.claim.Identity == now.claim.Identity && s.foreign.heard.claim.Transitions == now.claim.Transitions:
		// We know this claim: the elector that it names cannot have renewed since.
	default:
		s.suspect(suspect{Claim: *r.Claim, told: true, by: r.Token})
	}
	s.foreigners().heard = now
}

// keepTold: from now on a record without a claim does not end the wait for electors that we know only from claims. Our own clock does.
func (s *step) keepTold() {
	if !slices.ContainsFunc(s.foreign.suspects, func(o suspect) bool { return o.told }) {
		return
	}
	known := slices.Clone(s.foreign.suspects)
	for i := range known {
		known[i].told = false
	}
	s.foreigners().suspects = known
}

// seeLeftoverClaim notes a claim of ours that a foreign holder took over with the record. The claim says
// nothing of that holder, but the elector that it names may be at work at the same time. A member that has
// just started knows of that elector from nothing else. The claim counts once, however often we see it.
func (s *step) seeLeftoverClaim(r, before *record.Record) {
	c := r.Claim
	if c == nil || c.Identity == r.Holder || before != nil && before.Claim != nil && *before.Claim == *c ||
		slices.ContainsFunc(s.lasting(), func(o suspect) bool { return o.Identity == c.Identity && !o.nameless }) {
		return
	}
	s.suspect(suspect{Claim: *c, told: true, by: r.Token})
}

// seeLeftoverMark notes which of us held the lock when a foreign elector took it. If the elector did not wait,
// the robbed member works on until its deadline. If the stream showed us the lock before, robbed knows that deadline better.
func (s *step) seeLeftoverMark(r, before *record.Record) {
	m := r.Mark
	if m == nil || m.Identity == "" || m.Identity == r.Holder || before != nil && before.Mark != nil && before.Mark.Identity == m.Identity && s.follows(r, before) {
		return
	}
	wait := s.observer().LeaseDuration
	if m.Renewal != record.RenewalSession {
		wait = max(wait, min(m.Duration, foreignMaxDuration))
	}
	s.worksUntil(s.now.Add(s.observer().ObserverWait(wait)))
}

// follows says whether nobody can have held the lock between two records of it that we know, the later one a foreign elector's.
func (s *step) follows(r, before *record.Record) bool {
	return s.source == Stream || before.Holder == r.Holder && before.Transitions == r.Transitions
}

// shownUnder says whether the stream shows the claim right after the holder it names.
func (s *step) shownUnder(c record.Claim, v record.Version) bool {
	shown := s.Lock.shown
	return s.source == Stream && shown != nil && s.Lock.streamed.UID == v.UID && s.Lock.shownForeign &&
		shown.Holder == c.Identity && shown.Transitions == c.Transitions
}

// heard is the claim that a record of ours carried last, and the uid of the lock.
type heard struct {
	claim record.Claim
	uid   string
}

// claiming: the lock is ours, but no work may begin yet. We keep the lock and wait.
func (s *step) claiming() {
	switch {
	case s.Lock.Owner == Mine && s.abandons():
		s.become(Following, ReasonAbandoned)
		return
	case s.Lock.Owner == Mine:
	case s.lastHolder() && (s.withdrawal.reason() == "" || s.claimLasts() && !s.abandons()):
		// A foreign elector that was cancelled before it noticed its loss has blanked our record.
		s.take()
		return
	case s.Lock.Owner == Free:
		s.become(Following, ReasonReleased)
		return
	default:
		if s.Lock.Owner == Foreign {
			s.foreigners().claimsLost++
		}
		s.become(Following, ReasonNotHeld)
		return
	}
	over := s.heldBack()
	at := over
	if s.preferredElsewhere() {
		at = max(at, s.stealsUntil(s.preferredSince))
	}
	switch {
	case s.now >= over && (s.withdrawal.reason() != "" || s.better() != nil):
		s.Drain.Reason = ReasonReleased
		s.release()
	case s.now < at:
		s.wakeAt(at)
		s.renew()
	default:
		s.take()
	}
}

// heldBack is the instant before which no term may start although the lock is ours: until then a foreign
// elector may be at work, or one of us that a foreign elector robbed of the lock.
func (s *step) heldBack() record.Instant { return max(s.claimOver(), s.foreign.robbed) }

// HeldBack says whether somebody else may still be at work under a lock of ours. Then we keep it.
func (s *State) HeldBack(c Config, now record.Instant) bool {
	held := newStep(c, *s, now)
	return now < held.heldBack() || held.onlyRead()
}

// abandons says whether we leave long before everybody else has certainly stopped. Then we don't release
// the lock: another foreign elector would take it at once and work at the same time as the one that we
// claimed from. We let the lock expire: for foreign electors it expires only when the elector that we claimed
// from has stopped (shownDuration). If a leaving member has the time to wait for that, it waits and releases.
// A lock that our session renews does not expire by itself, so we don't abandon it.
func (s *step) abandons() bool {
	t := s.cfg.Timing
	if s.Lock.Owner == Mine && s.Lock.Record.ThroughSession() {
		return false
	}
	return s.withdrawal.leaving != "" && s.heldBack() > max(s.now, s.withdrawal.since.Add(t.LeaseDuration-t.RenewInterval))
}

// shownDuration is the record's plain duration, which foreign electors rely on. Nobody rewrites the record of
// a claimer that is gone, so the duration lasts until nobody else can be at work. Members of ours rely on the
// mark instead and take the lock sooner, since they inherit the wait.
func (s *step) shownDuration() time.Duration {
	left := s.heldBack().Sub(s.now) + time.Second - 1
	return max(s.cfg.Timing.LeaseDuration, left.Truncate(time.Second))
}

// mayBeForeign says whether electors that are not ours may compete for the lock.
func (s *step) mayBeForeign() bool { return s.Lock.shared || s.cfg.Foreign.Sharing != NotShared }

// reassert writes our name back into a record that somebody blanked while our work is stopping: otherwise
// foreign electors would take the lock at once. It extends nothing.
func (s *step) reassert() {
	if !s.waits(s.writableAt()) {
		s.put(Renew, s.held(s.Term.Token))
	}
}

// noteOutranked notes since when we have outranked the foreign holder.
func (s *step) noteOutranked() {
	switch {
	case !s.stands() || s.now < s.cfg.ProvenAt || !s.outranksForeign(s.Lock.Record):
		s.notOutranking()
	case s.foreign.outrankedSince == 0:
		s.foreigners().outrankedSince = s.now
	}
}

// foreignMayGoAt is when we may claim the lock from its foreign holder, since we have outranked it for long
// enough; false while we do not outrank it.
func (s *step) foreignMayGoAt() (record.Instant, bool) {
	t := s.cfg.Timing
	if s.foreign.outrankedSince == 0 {
		return 0, false
	}
	delay := t.PreemptDelay
	if s.foreign.claimsLost > 0 {
		// A foreign elector took the lock back: its preference differs from ours.
		delay = max(delay, record.Doubled(max(t.MinHold, time.Second), s.foreign.claimsLost))
	}
	return s.foreign.outrankedSince.Add(delay), true
}

// outranksForeign says whether we outrank a foreign holder. The key in r may be left over from our mark; then
// we must outrank the holder with that key and without (rule bound-to-the-holder). A foreign holder has no
// weight: a weight in r is not its own.
func (s *step) outranksForeign(r *record.Record) bool {
	outranks := func(k record.Key) bool { return s.outranks(s.cfg.Member, priority.Unweighed(k)) }
	if r.Mark != nil && r.HolderKey == r.Mark.Key && !outranks("") {
		return false
	}
	return outranks(r.HolderKey)
}
