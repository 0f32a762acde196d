// Package scenario plays what people ask about their own configuration: what happens if a
// member dies, if the API is away, if another revision becomes the default. The members are
// those of production (package member), in virtual time, and a judge of its own keeps the
// times of their work.
//
// All else is a model, and a friendly one. A write takes 3 ms, and 3 ms later everybody
// has seen it. Clocks run at one rate. A member that is killed does not come back, and its
// work dies with it. Work starts at once, and stops at once or after Scenario.StopTime.
// While the API is away, requests fail at once, as where no server listens, and members try
// again at the pace of production. Electors that are not ours, and locks that are migrated from, are
// not simulated. Package sim is where everything goes wrong at once.
//
// The same scenario with the same seed plays the same. There is no goroutine in it.
package scenario
