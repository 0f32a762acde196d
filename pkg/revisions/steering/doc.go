// Package steering prefers for each election what its pin says, else what the group's rollout
// says, else what a default source says.
//
// One ConfigMap of the group, primacy-<group>-rollout, holds pins, drains, a pause, handovers and the
// rollout (rollout.Plan).
// A Source follows it by name, and the default source, and delivers what follows from both. Each
// keeps its last value while it cannot be read or its value is unusable; Source.Freshness and
// Source.Default say how old that value is. Until both have said something, nothing is preferred
// and nothing moves; drains and pauses count as soon as the plan is known. A missing ConfigMap means neither pins nor a rollout.
//
// A program that uses the library and should obey pins, drains, pauses and handovers has a Source as its
// election.Config.Preferences; without one it obeys none of them. Rollouts also need a driver (package controller), as
// `primacy run` has.
//
// Edit changes the stored plan, by compare-and-swap. Following needs list and watch on the
// ConfigMap; Edit needs get, update and, if there is no ConfigMap yet, create.
//
// Goroutines: Watch starts two, one for each source; they have ended when it returns. Any
// goroutine may call the other methods, and the functions.
package steering
