// Package scenario answers what people ask about their own configuration: what happens if a member dies,
// if the API is away, or if another revision becomes the default. It runs members with their production
// code (package member) in virtual time, and its own judge records when their work was on.
//
// All else is a model, and a friendly one. A write takes 3 ms, and 3 ms later everybody has seen it.
// Clocks run at one rate. A killed member does not come back, and its work dies with it. Work starts at
// once, and stops at once or after Scenario.StopTime. While the API is away, requests fail at once, as if
// no server listened, and members retry at the pace of production. Foreign electors and the former locks of
// a migration are not simulated. For harsher worlds see package sim.
//
// The same scenario with the same seed plays the same. The package starts no goroutine.
package scenario
