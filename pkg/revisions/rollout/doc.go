// Package rollout moves the elections of a group from one revision, the stable one, to
// another, the canary, step by step. It only decides: it has no clock, does no I/O and logs
// nothing.
//
// A Plan is all that is stored: pins, drains, a pause and handovers, a rollout's Spec, which operators write, and its
// Status, which the controller writes. Members ask a plan what an election prefers
// (Plan.Preferred); the controller asks Advance what comes next; commands make a new plan from
// an old one (Plan.Start, Plan.Abort and the others). Read and Plan.Encode are the codec of
// the ConfigMap that keeps a plan.
//
// # Reach
//
// Each rollout draws a new order of the group's elections (RankOf). A weight of w moves the first
// ceil(N x w / 100) of the N elections. Only the controller knows N, so it writes the rank up to
// which elections are the canary's. With that a member can tell by itself whether an election is in
// Reach. Reach grows. It shrinks only when a rollout is aborted or rolled back, and then it is empty.
//
// Times are wall-clock times. They bound waiting only: no safety depends on them.
//
// Goroutines may share values as long as none writes to them; no function changes its
// arguments.
package rollout
