package machine

import (
	"slices"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// succession is what this member remembers of members that may lead after it.
type succession struct {
	passedOver []passedOver
	// betterSince is since when a member has been worth a move; zero while none is.
	betterSince record.Instant
}

// passedOver is a member that we neither nominate nor move the lock to before the instant until, because it
// let a nomination go by, or leaves.
type passedOver struct {
	identity, config string
	until            record.Instant
	// since is when we first saw the release that nominated it; count is how many nominations it let go by.
	// Both are zero for a member that leaves.
	since record.Instant
	count int
}

// turnGone passes over the nominee of a lock that has been free for longer than the nominee's turn.
func (s *step) turnGone(free record.Instant) {
	if s.now >= free.Add(s.cfg.Timing.NominateDelay) {
		s.passOver(s.Lock)
	}
}

// turnTaken passes over the nominee of the released lock before, now that another member of ours took the
// lock right after that release. That member waited for the whole of the nominee's turn, whether we did or
// not. Without this, members that take the lock from each other in turn would each nominate the same absent
// member again and again. A nominee for which nobody waits is not passed over.
func (s *step) turnTaken(before Lock, r *record.Record) {
	if before.Owner == Free && before.Record.HandoverTo != r.Holder && r.Transitions == before.Record.Transitions+1 && s.mayCome(before.Record.HandoverTo) {
		s.passOver(before)
	}
}

// passOver remembers that the nominee of the released lock l let its turn go by.
func (s *step) passOver(l Lock) {
	nominee := l.Record.HandoverTo
	if l.Owner != Free || l.foreignRelease || nominee == "" || nominee == s.cfg.Member.Identity {
		return
	}
	p := s.succession.passing(nominee)
	if p.until > 0 && p.since == l.since {
		return // we already passed it over for this nomination
	}
	p.until = s.now.Add(record.Doubled(s.cfg.Timing.StandDown, p.count))
	p.count++
	p.since, p.config = l.since, s.configOf(nominee)
	s.note(p)
	s.act(Report{Kind: PassedOver, Role: s.Role, Detail: nominee})
}

// leaves passes over the member that released the lock because it leaves. Its session may say for a moment
// longer that it is ready, and the next holder would hand the lock straight back. It never shortens an
// earlier passing over.
func (s *step) leaves(r *record.Record) {
	n := len(r.History)
	if n == 0 || r.History[n-1].Why != released+string(ReasonShutdown) || r.History[n-1].Who == s.cfg.Member.Identity {
		return
	}
	p := s.succession.passing(r.History[n-1].Who)
	config := s.configOf(p.identity)
	if until := s.now.Add(s.cfg.Timing.LeaseDuration); until > p.until || p.config != config {
		p.until, p.config = until, config
		s.note(p)
	}
}

// passing is what we know of a member that we pass over, or once did; until is zero if we never did.
func (f succession) passing(identity string) passedOver {
	if i := slices.IndexFunc(f.passedOver, func(p passedOver) bool { return p.identity == identity }); i >= 0 {
		return f.passedOver[i]
	}
	return passedOver{identity: identity}
}

// note replaces what we knew of p's member. If there are many, it forgets members that are gone, and in the end the oldest.
func (s *step) note(p passedOver) {
	f := &s.succession
	rest := slices.DeleteFunc(slices.Clone(f.passedOver), func(o passedOver) bool { return o.identity == p.identity })
	if len(rest) >= manyPassedOver {
		rest = slices.DeleteFunc(rest, func(o passedOver) bool { return s.now >= o.until && !s.lives(o.identity) })
	}
	f.passedOver = append(rest[max(0, len(rest)-maxPassedOver+1):], p)
}

// lives says whether the named member lives, as far as we see.
func (s *step) lives(identity string) bool {
	return slices.ContainsFunc(s.View.Peers, func(p Peer) bool { return p.Identity == identity })
}

// forgive forgets that a member let its turn go by, now that it took the lock.
func (f *succession) forgive(member string) {
	named := func(p passedOver) bool { return p.identity == member }
	if slices.ContainsFunc(f.passedOver, named) {
		f.passedOver = slices.DeleteFunc(slices.Clone(f.passedOver), named)
	}
}

// maxPassedOver bounds the memory of members that are passed over. It is as large as groups are: a holder that forgot members which
// do not come would hand over to them one after the other, for ever.
const maxPassedOver = 256

// manyPassedOver is from how many on we forget those that are gone.
const manyPassedOver = 16

// turn is how long this member leaves the free lock to those before it in line (rule succession).
func (s *step) turn() time.Duration {
	t, l := s.cfg.Timing, s.Lock
	me, former := s.cfg.Member.Identity, l.Record.Holder
	if l.Owner == Free && !l.foreignRelease {
		former = l.Record.HandoverTo
		switch nominee := l.Record.HandoverTo; {
		case nominee == me:
			return 0
		case nominee == "":
			return time.Duration(s.jitter * float64(t.NominateDelay))
		case s.mayCome(nominee):
			return t.NominateDelay
		}
	}
	if s.lastHolder() {
		return 0
	}
	switch place := s.place(former); {
	case l.Owner == Unowned:
		// Each member waits from its own first sight, so those before us may have to wait for longer.
		return min(time.Duration(place), 1) * t.NominateDelay
	case place < lastPlace:
		return time.Duration(place) * t.NominateDelay
	}
	return lastPlace*t.NominateDelay + time.Duration(s.jitter*float64(t.NominateDelay))
}

// mayCome says whether to wait for a nominee: it lives and says that it is ready. A leaving member says
// that it is not.
func (s *step) mayCome(nominee string) bool {
	return slices.ContainsFunc(s.View.Peers, func(p Peer) bool { return p.Identity == nominee && p.Ready })
}

// lastPlace is the place in line that all later members share, so that the delay has a bound. The members
// before it come one by one: one that takes no part in the election, or does not answer, costs one
// nominateDelay.
const lastPlace = 2
