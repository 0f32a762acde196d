package machine

import (
	"hash/fnv"
	"slices"

	"github.com/primacy-dev/primacy/pkg/election/record"
	"github.com/primacy-dev/primacy/pkg/priority"
)

// An operator may ask the holder to hand over, whatever the holder sees of the preference (rule forced-handover).
// The request is the name of a member in the record of the term that is on. It needs no more of the holder than
// the sight of its own lock. A take writes the record anew, so no term has the request of an earlier one.

// named is the member that the record of our term names as the next one; empty if it names nobody but us.
func (s *step) named() string {
	if s.Lock.Owner != Mine || s.Lock.Record.HandoverTo == s.cfg.Member.Identity {
		return ""
	}
	return s.Lock.Record.HandoverTo
}

// forced says whether a request ends our term. It reports one that we do not obey, once.
func (s *step) forced() bool {
	to := s.named()
	if to == "" || s.cfg.Inner {
		return false
	}
	why := s.unfit(to)
	if why != "" && !s.Lock.unheeded {
		s.Lock.unheeded = true
		s.act(Report{Kind: Unheeded, Role: s.Role, Token: s.Term.Token, Detail: to + ": " + why})
	}
	return why == ""
}

// unfit says why nobody would take the lock if we released it to the member; empty if the member would take it.
func (s *step) unfit(identity string) string {
	i := slices.IndexFunc(s.View.Peers, func(p Peer) bool { return p.Identity == identity })
	switch {
	case s.cfg.Preferred.Drains(identity):
		return "that member is drained"
	case s.cfg.Preferred.NoTakeover:
		return "nobody takes a lock while the group is paused without takeovers"
	case i < 0:
		return "no such member lives, as far as this member sees"
	case !priority.Admits(s.cfg.Policy, priority.Weighed(s.View.Peers[i].Member)):
		return "that member takes no part in this election, which is for members of another revision"
	case !s.View.Peers[i].Ready:
		return "that member is not ready"
	case !s.View.Peers[i].StandsFor(s.cfg.Election):
		return "the work of that member failed lately here, or is not ready"
	}
	if until := s.passedOverUntil(s.View.Peers[i].Member); s.now < until {
		s.wakeAt(until)
		return "that member let its turn go by lately, or leaves"
	}
	return ""
}

// forcedTo is whom we nominate at the end of a term that a request ended: the member that it named then, whatever was
// written since. If that member does not come any more, it is any other: the operator wants us to lead no longer. The inner
// lock of a migration ends with the outer one, and has a request of its own.
func (s *step) forcedTo() string {
	to := s.named()
	if s.Drain.To != 0 {
		to = ""
		if i := slices.IndexFunc(s.View.Peers, func(p Peer) bool { return hashOf(p.Identity) == s.Drain.To }); i >= 0 {
			to = s.View.Peers[i].Identity
		}
	}
	if to != "" && s.unfit(to) == "" {
		return to
	}
	return s.successor(s.cfg.Member.Identity)
}

func hashOf(identity string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(identity)) // a hash never fails to write
	return h.Sum32()
}

// sameRequest says whether two records of a lock make the same request.
func sameRequest(a, b *record.Record) bool {
	return a != nil && b != nil && a.HandoverTo == b.HandoverTo
}
