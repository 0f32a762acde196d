package priority

import "github.com/primacy-dev/primacy/pkg/election/record"

// Weighing is an interface that a Policy also implements if it compares weights. Its relations keep the
// promises of Policy, over candidates instead of keys.
type Weighing interface {
	OutranksWeighed(challenger, holder Candidate, preferred record.Preferred) bool
	OrderWeighed(a, b Candidate, preferred record.Preferred) int
}

// Candidate is what a policy compares: a key, and the weight and identity if they are known. A
// foreign elector has no known weight or identity: what strangers write beside its name does not
// count.
type Candidate struct {
	Key      record.Key
	weight   int
	known    bool
	identity string
}

// Unweighed makes a candidate of unknown weight.
func Unweighed(k record.Key) Candidate { return Candidate{Key: k} }

// Weighed makes the candidate for a member of ours, as its session shows it.
func Weighed(m record.Member) Candidate {
	return Candidate{Key: m.Key(), weight: m.Weight, known: true, identity: m.Identity}
}

// Outranks decides by drains if exactly one of the two is drained, then by pins if exactly one of the two is
// pinned; else it asks the policy, with weights if the policy compares them. While the preference is paused
// nobody outranks anybody.
func Outranks(p Policy, challenger, holder Candidate, preferred record.Preferred) bool {
	if w, ok := p.(within); ok {
		return w.admits(challenger) && Outranks(w.Policy, challenger, holder, preferred)
	}
	if preferred.Paused {
		return false
	}
	if drained := drain(challenger, holder, preferred); drained != 0 {
		return drained < 0 && synced(preferred) && !absent(challenger.Key)
	}
	if pinned := pin(challenger, holder, preferred); pinned != 0 {
		return pinned < 0
	}
	if w, ok := p.(Weighing); ok {
		return w.OutranksWeighed(challenger, holder, preferred)
	}
	return p.Outranks(challenger.Key, holder.Key, preferred)
}

// Order puts drained members last, and of the others the pinned member first; among equals it asks the policy,
// with weights if the policy compares them.
func Order(p Policy, a, b Candidate, preferred record.Preferred) int {
	if w, ok := p.(within); ok {
		if admitted := first(w.admits(a), w.admits(b)); admitted != 0 {
			return admitted
		}
		return Order(w.Policy, a, b, preferred)
	}
	if drained := drain(a, b, preferred); drained != 0 {
		return drained
	}
	if pinned := pin(a, b, preferred); pinned != 0 {
		return pinned
	}
	if w, ok := p.(Weighing); ok {
		return w.OrderWeighed(a, b, preferred)
	}
	return p.Order(a.Key, b.Key, preferred)
}

// drain orders members of drained hosts after all others.
func drain(a, b Candidate, preferred record.Preferred) int {
	if preferred.Drained == "" {
		return 0
	}
	return first(!preferred.Drains(a.identity), !preferred.Drains(b.identity))
}

// pin orders the member to which the election is pinned before all others. Two incarnations
// of the pinned member are equal.
func pin(a, b Candidate, preferred record.Preferred) int {
	if preferred.Member == "" {
		return 0
	}
	return first(preferred.Pins(a.identity), preferred.Pins(b.identity))
}
