package machine

import (
	"cmp"
	"hash/fnv"
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// betters are the members that are worth a move of the lock.
type betters struct {
	// best is the first of these members; nil if there is none.
	best *Peer
	// divided is a member that would be among them if it saw the same preference as we do.
	divided string
	// next is when a member that we pass over now may be among them; zero for never.
	next record.Instant
}

// betters finds the living members that outrank us, are ready and in good standing, and see the same
// preference as we do (rules living-terms-stay, no-flapping). While the preference is not synced, a policy
// lets nobody outrank anybody.
func (s *step) betters() (found betters) {
	me := s.cfg.Member
	for i := range s.View.Peers {
		p := &s.View.Peers[i]
		if !p.Ready || p.Trust != Proven || !p.StandsFor(s.cfg.Election) {
			continue
		}
		if until := max(s.passedOverUntil(p.Member), s.FailedUntil(p.Identity, s.cfg.Timing)); s.now < until {
			if found.next == 0 || until < found.next {
				found.next = until
			}
			continue
		}
		if !s.outranks(p.Member, priority.Weighed(me)) {
			continue
		}
		if p.Preference != s.cfg.Digest {
			found.divided = p.Identity
			continue
		}
		if found.best == nil || s.compare(p, found.best) < 0 {
			found.best = p
		}
	}
	return found
}

// FailedUntil is until when we move nothing to the member from which we took the lock because its runners failed; zero
// for any other member. Its session may not say that yet.
func (s *State) FailedUntil(identity string, t record.Timing) record.Instant {
	if r := s.Lock.Record; r == nil || !releasedBefore(r.History, identity, ReasonFailed) {
		return 0
	}
	return s.Term.Started.Add(t.LeaseDuration)
}

// better is the member that is worth a move, or nil.
func (s *step) better() *Peer { return s.betters().best }

// successor is the member that should take the lock next, among the living ones and ourselves. Members that
// see the same directory name the same one (rule succession). Empty: nobody.
func (s *step) successor(without ...string) string {
	var best *Peer
	consider := func(p *Peer) {
		if slices.Contains(without, p.Identity) || s.isPassedOver(p.Member) {
			return
		}
		if best == nil || s.compare(p, best) < 0 {
			best = p
		}
	}
	for i := range s.View.Peers {
		consider(&s.View.Peers[i])
	}
	me := s.asPeer()
	consider(&me)
	if best == nil {
		return ""
	}
	return best.Identity
}

// place is how many members come before us as successors of the holder; zero for the one that successor
// names. It does not count the holder among them, and puts us one place later if holder is our own name.
func (s *step) place(holder string) int {
	me, before := s.asPeer(), 0
	if me.Identity == holder {
		before++
	}
	for i := range s.View.Peers {
		if p := &s.View.Peers[i]; p.Identity != holder && !s.isPassedOver(p.Member) && s.compare(p, &me) < 0 {
			before++
		}
	}
	return before
}

// asPeer is this member as the others see it.
func (s *step) asPeer() Peer {
	me := Peer{Member: s.cfg.Member, Trust: Proven}
	if s.now < s.cfg.ProvenAt {
		me.Trust = OnProbation
	}
	me.Ready = !me.StandsForNone()
	if !s.stands() {
		me.Standing = []string{s.cfg.Election}
	}
	return me
}

// stands says whether our runners are in good standing: they did not fail lately, and are
// not known to be unable to work.
func (s *step) stands() bool { return s.Standing(s.now) && s.cfg.Member.StandsFor(s.cfg.Election) }

// compare puts the better successor first. It compares trust (members on probation come last of all), then
// the policy's order, readiness, standing (failed runners), and the highest hash.
func (s *step) compare(a, b *Peer) int {
	election := s.cfg.Election
	return cmp.Or(
		cmp.Compare(a.Trust, b.Trust),
		priority.Order(s.cfg.Policy, priority.Weighed(a.Member), priority.Weighed(b.Member), s.cfg.Preferred),
		trueFirst(a.Ready, b.Ready),
		trueFirst(a.StandsFor(election), b.StandsFor(election)),
		cmp.Compare(lot(election, b.Identity), lot(election, a.Identity)),
		cmp.Compare(a.Identity, b.Identity),
	)
}

// outranks says whether a member is worth a move away from the holder.
func (s *step) outranks(m record.Member, holder priority.Candidate) bool {
	return priority.Outranks(s.cfg.Policy, priority.Weighed(m), holder, s.cfg.Preferred)
}

// causeOf is why the member, which outranks us, does so.
func (s *step) causeOf(m record.Member) priority.Cause {
	return priority.CauseOf(priority.Weighed(m), priority.Weighed(s.cfg.Member), s.cfg.Preferred)
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// lot is a number for a member in an election. All members compute the same, so that the elections of a
// dead member spread over the living.
func lot(election, identity string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(election)) // a hash never fails to write
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(identity))
	x := h.Sum64()
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	return x
}

func (s *step) configOf(identity string) string {
	for _, p := range s.View.Peers {
		if p.Identity == identity {
			return p.Config
		}
	}
	return ""
}

// passedOverUntil is until when we pass over the member because it let a nomination go by, or released a
// lock because it leaves. It is zero if we don't, or if the member's configuration changed since.
func (s *step) passedOverUntil(m record.Member) record.Instant {
	if p := s.succession.passing(m.Identity); p.config == m.Config {
		return p.until
	}
	return 0
}

func (s *step) isPassedOver(m record.Member) bool { return s.now < s.passedOverUntil(m) }
