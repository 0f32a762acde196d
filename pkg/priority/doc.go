// Package priority says which member outranks which. A Policy is two relations over keys,
// without state: Outranks decides whether a running term should move to a challenger, Order
// decides which of several candidates may take a free lock first.
//
// Both relations depend on the preferred revision, which the caller passes in. While
// that is not synced, nobody outranks anybody.
//
// # Absent keys
//
// A key without a revision is absent: a foreign elector wrote none, or wrote one that is not
// bound to the holder; callers then pass the empty key. An absent key says nothing about
// its holder's revision or location, so
//
//   - a challenger without a key outranks nobody;
//   - a holder without a key yields to the preferred revision, as it does to Istio,
//     and to nothing else;
//   - in order it is neither preferred nor local.
//
// An absent key does not mean revision "default": record.NewKey writes an unnamed revision
// that way. A member that outranks an absent key has a key itself, so an absent key moves a
// lock once and never back.
//
// # Weights
//
// A policy that is Weighing also compares weights, which members publish in their sessions.
// A foreign elector has none: nobody outranks it by weight, nor by a key of a chain that
// comes after weight.
//
// # Pins
//
// An election can be pinned to a member (record.Preferred.Member). Under any policy, the
// functions Outranks and Order put it before everybody else, including foreign electors. The
// policy decides between others, and between two incarnations of the pinned member. Keys do
// not identify members, so the methods of a Policy know no pins.
//
// # Drained members
//
// Members of a drained host (record.Preferred.Drained) come after all others, under any policy and even if the election
// is pinned to one of them: every other member with a key outranks them. They still take a free lock for which nobody
// else comes, and if all members are drained, the policy decides among them.
//
// Policies are values without state, safe for concurrent use.
package priority
