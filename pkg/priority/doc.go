// Package priority says who outranks whom. A Policy is two relations over keys, and
// no state: Outranks decides who is worth moving a running term for, Order decides
// among several who may take a free lock.
//
// Both relations depend on the preferred revision, which the caller passes in. While
// that is not synced, nobody outranks anybody.
//
// # Absent keys
//
// A key without a revision is absent: a foreign elector wrote none, or what is written
// is not bound to its holder, and then callers pass the empty key. An absent key says
// nothing about its holder's revision or location, so
//
//   - who has no key outranks nobody;
//   - a holder without a key yields to the preferred revision, as it does to Istio,
//     and to nothing else;
//   - in order it is neither preferred nor local.
//
// It is not read as revision "default": that is what an unnamed revision is written as
// (record.NewKey), not what a missing key means. Since what outranks it carries a key
// from then on, an absent key moves a lock once and never back.
//
// # Weights
//
// A policy that is Weighing compares weights too, which members publish in their sessions.
// A foreign elector has none: nobody outranks it by weight, and nobody by a key of a chain
// that stands after weight.
//
// # Pins
//
// An election can be pinned to a member (record.Preferred.Member). The functions Outranks and
// Order put it before everybody else under any policy, foreign electors among them; between
// others, and between two incarnations of it, the policy decides. Keys tell nothing of
// members, so the methods of a Policy know no pins.
//
// Policies are values without state, safe for concurrent use.
package priority
