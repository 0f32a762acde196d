// Package machine decides, and does nothing else: Step takes what one member knows of
// one election, the present instant and an event, and returns what it knows now and
// the actions that follow. It has no clock, no randomness, no I/O, no logging and no
// goroutine, so that it runs unchanged in a simulator and in production.
//
// RULES.md beside this file has the rules that it keeps; comments cite them by name. design.md
// draws the roles and their transitions, and lists which test dies without which rule.
//
// What the driver owes the machine:
//   - a machine made anew for the same identity and lock starts with a Beat no lower than
//     the former one's;
//   - every event carries the instant at which the driver learned of it, never going back;
//   - every Write is answered by exactly one WriteDone and every Read by one Observed
//     (Source ReadBack) or ReadFailed;
//   - each Stop is answered by exactly one RunnersStopped, once all the work has stopped;
//     nothing else starts before that;
//   - the driver reads Sent from the clock after it got the action and before anything leaves;
//     for a List, before it requests that;
//   - what the stream shows comes in the order of the store; a List shows no less than was
//     stored when it was requested;
//   - a WakeAt replaces the former one and is answered by a Tick at or after it.
package machine
