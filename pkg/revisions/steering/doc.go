// Package steering prefers for each election what its pin says, else what the group's rollout
// says, else what a default source says.
//
// Pins and the rollout stand in one ConfigMap of the group, primacy-<group>-rollout
// (rollout.Plan). A Source follows it, by name, and the default source, and delivers what
// follows from both. Each keeps its last value while it cannot be read or says what nobody
// can use, and Source.Freshness and Source.Default tell how old that is. Until both have said
// something, nothing is preferred and nothing moves. That there is no ConfigMap says that
// there is neither a pin nor a rollout.
//
// Edit changes what is stored, by compare-and-swap. Following needs list and watch on the
// ConfigMap, Edit get and update, and create where there is none yet.
//
// Goroutines: Watch starts two, one for each source, which have ended when it returns. The
// other methods, and the functions, may be called from any goroutine.
package steering
