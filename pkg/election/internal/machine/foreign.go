package machine

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// Taking a lock from an elector that is not ours (rule claim-and-wait). It does not know that it lost
// the lock until its next write is rejected, and client-go's works on until its
// renewDeadline. So the lock is written first, with a claim that says from whom it was
// taken, and the term starts only when that elector has certainly stopped. The claim
// stays with the lock: whoever takes over from the claimer waits as well. While it lasts
// the lock is not let go, so that no other foreign elector takes it meanwhile.

// foreign is what this member knows of electors that are not ours and held the lock.
type foreign struct {
	// suspects are those that may still be at work, the last one last (rule claim-and-wait); some may
	// be history.
	suspects []suspect
	// claimed is the claim that we wrote last, and heard the one that the lock carried last.
	claimed record.Claim
	heard   heard
	// claimsLost counts the claims that a foreign elector overwrote since our last term.
	claimsLost int
	// robbedUntil is until when a member of ours may be at work from which a foreign elector
	// took the lock without waiting.
	robbedUntil record.Instant
	// outrankedSince is since when we have outranked a live foreign holder; zero while not.
	outrankedSince record.Instant
}

// noForeigners is what there is to know where no elector that is not ours was ever seen, as is so of
// nearly all locks. It is shared, and never written to.
var noForeigners = &foreign{}

// isNothing says whether there is nothing to keep.
func (f *foreign) isNothing() bool {
	return len(f.suspects) == 0 && f.claimed == record.Claim{} && f.heard == heard{} && f.claimsLost == 0 && f.robbedUntil == 0 && f.outrankedSince == 0
}

// foreigners is what is known of foreign electors, to be changed by this step.
func (s *step) foreigners() *foreign {
	if !s.foreignersCopied {
		known := *s.foreign
		s.foreign, s.foreignersCopied = &known, true
	}
	return s.foreign
}

// notOutranking: we do not outrank a live foreign holder, as of now.
func (s *step) notOutranking() {
	if s.foreign.outrankedSince != 0 {
		s.foreigners().outrankedSince = 0
	}
}

// unheard: no claim is known of the lock's record.
func (s *step) unheard() {
	if s.foreign.heard != (heard{}) {
		s.foreigners().heard = heard{}
	}
}

// suspect is a foreign elector that may still be at work, as a claim on its lock says it.
type suspect struct {
	record.Claim
	// at is the first sight of its last renewal, or of the claim that names it.
	at record.Instant
	// told: it was never seen to hold the lock; a claim names it.
	told bool
	// released: it has stopped. But one that is started again under the same name may take
	// the lock for its own still, and blank it when it is cancelled.
	released bool
}

// maxSuspects bounds the memory of foreign electors that held the lock one after another.
const maxSuspects = 8

// suspect keeps in mind a foreign elector that was seen just now, by itself or by a claim.
func (s *step) suspect(now suspect) {
	same := func(o suspect) bool { return o.Identity == now.Identity }
	others := s.lasting()
	if i := slices.IndexFunc(others, same); i >= 0 && now.told {
		now.Duration = max(now.Duration, others[i].Duration)
		now.told = others[i].told // a claim that is shown late does not undo what was seen since
	}
	others = slices.DeleteFunc(others, same)
	if len(others) >= maxSuspects {
		for _, o := range others {
			now.Duration = max(now.Duration, o.Duration)
		}
		others = nil
	}
	now.at = s.now
	s.foreigners().suspects = append(others, now)
}

// lasting is a copy of the suspects that may still be at work.
func (s *step) lasting() []suspect {
	return slices.DeleteFunc(slices.Clone(s.foreign.suspects), func(o suspect) bool { return s.now >= s.stopped(o) })
}

// stopped is when a suspect has certainly stopped.
func (s *step) stopped(o suspect) record.Instant {
	wait := s.cfg.Foreign.Wait
	if wait <= 0 {
		// Twice, since a renewal whose reply was slow lets it work on for longer than once.
		wait = 2 * max(s.leastForeign(), min(o.Duration, foreignMaxDuration))
	}
	return o.at.Add(s.observer().ObserverWait(wait))
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

// claim is what our record says while suspects may be at work: the last of them, for as
// long as the slowest. It is said unchanged until the wait is over.
func (s *step) claim() *record.Claim {
	at := slices.DeleteFunc(slices.Clone(s.foreign.suspects), func(o suspect) bool { return o.released })
	last := at[len(at)-1].Claim
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

// claimOfOurs is the claim that a record which we hold must carry; none during a term,
// since that begins only when nobody is left. No record with a claim is ever released.
func (s *step) claimOfOurs() *record.Claim {
	if !s.claimLasts() {
		return nil
	}
	return s.claim()
}

// seeForeign takes in that a foreign elector wrote r as the holder, where before was known
// of the same object; nil if nothing was.
func (s *step) seeForeign(r, before *record.Record) {
	s.Lock.shared = true
	s.seeLeftoverClaim(r, before)
	s.seeLeftoverMark(r, before)
	s.suspect(suspect{Claim: record.Claim{Identity: r.Holder, Transitions: r.Transitions, Duration: max(foreignDuration(r), s.cfg.Timing.LeaseDuration)}})
}

// missedForeign: a break of the stream hid how the lock came to be what a list shows, so a
// foreign elector may have held it meanwhile and be at work. What lost its owner was not
// necessarily ours before; and of a foreign holder no release is believed to be its own
// until who came before has certainly stopped.
func (s *step) missedForeign(e Observed) {
	shown := s.Lock.shown
	if s.mayBeForeign() && s.ownerOf(e.Record, e.Version.UID) != Mine {
		s.validity.until = 0
	}
	if s.ownerOf(e.Record, e.Version.UID) != Foreign || shown != nil && s.Lock.streamed.UID == e.Version.UID &&
		shown.Holder == e.Record.Holder && shown.Transitions == e.Record.Transitions {
		return
	}
	s.suspect(suspect{Claim: record.Claim{Identity: "unseen", Duration: s.cfg.Timing.LeaseDuration}})
}

// seeClaim takes in whether a record that one of us wrote carries a claim. It is called
// for new beats only: what strangers make of it afterwards counts for nothing.
func (s *step) seeClaim(r *record.Record, v record.Version, owner Owner) {
	if owner == Mine && s.writes.first != 0 && r.Mark.Beat >= s.writes.first {
		// What we wrote we know; what stands there a stranger may have edited before we saw it.
		if s.claimLasts() {
			s.foreigners().heard = heard{claim: s.foreign.claimed, uid: v.UID}
		}
		return
	}
	if r.Claim == nil {
		// Who wrote it knew that whoever it had told of has stopped. Whom we have seen
		// ourselves we wait for on our own clock.
		told := func(o suspect) bool { return o.told }
		if slices.ContainsFunc(s.foreign.suspects, told) {
			s.foreigners().suspects = slices.DeleteFunc(slices.Clone(s.foreign.suspects), told)
		}
		s.unheard()
		return
	}
	now := heard{claim: *r.Claim, uid: v.UID}
	switch {
	case s.shownUnder(*r.Claim, v):
		// We saw its last renewal.
	case s.foreign.heard.uid == now.uid && s.foreign.heard.claim.Identity == now.claim.Identity && s.foreign.heard.claim.Transitions == now.claim.Transitions:
		// Since it was claimed first its holder cannot have renewed.
	default:
		s.suspect(suspect{Claim: *r.Claim, told: true})
	}
	s.foreigners().heard = now
}

// seeLeftoverClaim takes in the claim that a foreign holder took over with the lock. It says
// nothing of that holder, but whom it names may be at work beside it, and a member that has
// just started hears of that from nothing else. It counts once, however often it is seen.
func (s *step) seeLeftoverClaim(r, before *record.Record) {
	c := r.Claim
	if c == nil || c.Identity == r.Holder || before != nil && before.Claim != nil && *before.Claim == *c ||
		slices.ContainsFunc(s.lasting(), func(o suspect) bool { return o.Identity == c.Identity }) {
		return
	}
	s.suspect(suspect{Claim: *c, told: true})
}

// seeLeftoverMark takes in which of us held the lock when a foreign elector took it. That
// may have been a theft, and then who was robbed works on until its deadline. A member that
// saw the lock before knows better than that (robbed).
func (s *step) seeLeftoverMark(r, before *record.Record) {
	m := r.Mark
	if m == nil || m.Identity == "" || m.Identity == r.Holder || before != nil && before.Mark != nil && before.Mark.Identity == m.Identity {
		return
	}
	wait := s.cfg.Timing.LeaseDuration
	if m.Renewal != record.RenewalSession {
		wait = max(wait, min(m.Duration, foreignMaxDuration))
	}
	s.foreigners().robbedUntil = max(s.foreign.robbedUntil, s.now.Add(s.observer().ObserverWait(wait)))
}

// shownUnder says whether the stream shows the claim right after the holder it names.
func (s *step) shownUnder(c record.Claim, v record.Version) bool {
	shown := s.Lock.shown
	return s.source == Stream && shown != nil && s.Lock.streamed.UID == v.UID && s.ownerOf(shown, v.UID) == Foreign &&
		shown.Holder == c.Identity && shown.Transitions == c.Transitions
}

// heard is the claim that a record of ours carried last.
type heard struct {
	claim record.Claim
	uid   string
}

// claiming: the lock is ours, its work is not yet. Keep it, and wait.
func (s *step) claiming() {
	switch {
	case s.Lock.Owner == Mine && s.abandons():
		s.become(Following, ReasonAbandoned)
		return
	case s.Lock.Owner == Mine:
	case s.lastHolder() && (s.withdrawal.reason() == "" || s.claimLasts() && !s.abandons()):
		// A foreign elector that was stopped before it noticed blanks our record.
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

// heldBack is until when no term may start although the lock is ours: others may still
// be at work, foreign ones or one of us from which a foreign one took the lock.
func (s *step) heldBack() record.Instant { return max(s.claimOver(), s.foreign.robbedUntil) }

// abandons says whether we leave before nobody else can be at work. Then the lock is not
// released, since another foreign elector would take it at once and work beside the one
// that we claimed from: it is left to expire, for foreign electors only when that one has
// stopped. Who can wait for that in the time that a leaving member has waits, and releases.
// What our session renews does not expire by itself.
func (s *step) abandons() bool {
	t := s.cfg.Timing
	if s.Lock.Owner == Mine && s.Lock.Record.ThroughSession() {
		return false
	}
	return s.withdrawal.leaving != "" && s.heldBack() > max(s.now, s.withdrawal.since.Add(t.LeaseDuration-t.RenewInterval))
}

// shownDuration is the plain one, by which foreign electors go. Nobody rewrites the record
// of a claimer that is gone, so it lasts until nobody else can be at work. Ours go by the
// mark, and follow sooner: they inherit the wait.
func (s *step) shownDuration() time.Duration {
	left := s.heldBack().Sub(s.now) + time.Second - 1
	return max(s.cfg.Timing.LeaseDuration, left.Truncate(time.Second))
}

// mayBeForeign says whether electors that are not ours may look at the lock.
func (s *step) mayBeForeign() bool { return s.Lock.shared || s.cfg.Foreign.Sharing != NotShared }

// reassert writes our name back over a record that was blanked while our work is being
// stopped: foreign electors would take it at once. It extends nothing.
func (s *step) reassert() {
	if !s.waits(s.writableAt()) {
		s.put(Renew, s.held(s.Term.Token))
	}
}

// releasedByForeign says whether r shows that a foreign holder released the lock, seen to
// replace that holder with nothing in between, or what strangers made of it since.
func (s *step) releasedByForeign(r *record.Record, v record.Version) bool {
	released := func(from *record.Record) bool {
		return from != nil && r.Unreadable == "" && r.Holder == "" && r.Duration == time.Second &&
			!r.Renewed.IsZero() && r.Transitions == from.Transitions
	}
	before, shown := s.Lock, s.Lock.shown
	switch {
	case before.foreignRelease && before.Version.UID == v.UID:
		return released(before.Record)
	case before.streamed.UID != v.UID:
		return false
	}
	// A holder whose duration is one second anyway must have written the time as well.
	return s.source == Stream && released(shown) && s.ownerOf(shown, v.UID) == Foreign &&
		(shown.Duration != time.Second || !shown.Renewed.Equal(r.Renewed))
}

// foreignReleased takes in that the foreign holder released: it has stopped. But while
// another may be there this may have been that one's release, which blanks whoever holds
// the lock; then nobody has stopped.
func (s *step) foreignReleased(holder string) {
	s.foreigners().suspects = s.lasting()
	if !slices.ContainsFunc(s.foreign.suspects, func(o suspect) bool { return o.Identity != holder }) {
		for i := range s.foreign.suspects {
			s.foreigners().suspects[i].released = true
		}
	}
}

// noteOutranked notes since when the foreign holder is outranked.
func (s *step) noteOutranked() {
	switch {
	case !s.stands() || s.now < s.cfg.ProvenAt || !s.outranksForeign(s.Lock.Record):
		s.notOutranking()
	case s.foreign.outrankedSince == 0:
		s.foreigners().outrankedSince = s.now
	}
}

// foreignMayGoAt is from when on the foreign holder has been outranked for long enough to be claimed
// from; false while it is not outranked.
func (s *step) foreignMayGoAt() (record.Instant, bool) {
	t := s.cfg.Timing
	if s.foreign.outrankedSince == 0 {
		return 0, false
	}
	delay := t.PreemptDelay
	if s.foreign.claimsLost > 0 {
		// It, or its like, took the lock back: they and we do not prefer the same.
		delay = max(delay, record.Doubled(max(t.MinHold, time.Second), s.foreign.claimsLost))
	}
	return s.foreign.outrankedSince.Add(delay), true
}

// outranksForeign says whether we outrank a foreign holder. Its key may be a leftover of
// ours that it knows nothing of; then we must outrank it with and without (rule bound-to-the-holder). It has
// no weight: one beside its name is not its own.
func (s *step) outranksForeign(r *record.Record) bool {
	outranks := func(k record.Key) bool { return s.outranks(s.cfg.Member, priority.Unweighed(k)) }
	if r.Mark != nil && r.HolderKey == r.Mark.Key && !outranks("") {
		return false
	}
	return outranks(r.HolderKey)
}
