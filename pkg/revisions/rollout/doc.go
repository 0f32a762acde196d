// Package rollout moves the elections of a group from one revision, the stable one, to
// another, the canary, step by step. It decides, and nothing else: it has no clock, reads and
// writes nothing, and logs nothing.
//
// A Plan is all that is stored: pins, a rollout's Spec, which operators write, and its
// Status, which the controller writes. Members ask a plan what an election prefers
// (Plan.Preferred); the controller asks Advance what comes next; commands make a new plan of
// an old one (Plan.Start, Plan.Abort and the others). Read and Plan.Encode are the codec of
// the ConfigMap in which a plan is kept.
//
// # Reach
//
// The elections of a group have an order that is drawn for each rollout (RankOf). A weight of
// w moves the first ceil(N x w / 100) of them. The controller, who knows N, writes the rank up
// to which elections are the canary's, so that a member can tell of any election by itself
// whether it is in Reach. Reach grows; it shrinks only when a rollout is aborted or rolled
// back, and then it is empty.
//
// Times are wall-clock times. They bound waiting only: no step is safe because of one.
//
// Values may be shared between goroutines as long as nobody writes to them; no function
// changes what it is given.
package rollout
