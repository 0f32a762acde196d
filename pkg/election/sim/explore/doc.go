// Package explore visits every state that a small world can get into, and judges each. The
// simulator, package sim, tries long schedules at random; here nothing is left to chance,
// and what is small enough to be looked at is looked at to the end. Tests import it, and
// nobody else.
//
// # The world
//
// Two or three members, one lock that they renew themselves, a store that compares and
// swaps by uid and revision, and time in ticks: a lease lasts four, all else one or none.
// The machines are those of production. At each step anything may come next: a write
// reaches the store, its reply comes in, a read is answered, a stream shows its next event
// or list, somebody wakes up, work stops within its grace, the directory or the preference
// is heard of, a dead process joins again, or a tick passes. Requests and streams take no
// longer than Options.Lag without a fault, and whoever asked to be woken up is, before time
// passes. Faults are those of the Fault constants, any of them at any moment, at most
// Options.Budget on one path. What a fault began, such as a cut or a pause, lasts for as
// long as you like, and a write that strayed may be stored at any later time.
//
// # Judges
//
// In every state: never two at work, also where one is the orphan of a dead process; a
// term starts on a stored take of its own, once, with a token higher than that of every
// earlier term; starts and stops are paired; nothing is granted after a stop; a stop comes
// early enough for the grace; a lock is released only after the work; nobody takes it from
// whoever works; one request at a time; no panic.
//
// Over the whole graph of states: nothing goes on for ever without time passing; and while
// a member is healthy and nothing more goes wrong, there is a leader again within a number
// of ticks that the exploration finds, whatever the order of events. There is no cycle
// without a leader, so there is neither a dead end nor a livelock.
//
// # How it closes
//
// Time, revisions, tokens, beats and counts rise without end. Two worlds count as one state
// when they differ in nothing that a machine can tell: instants enter the canonical form as
// seen from now, and farther back than all that is ever added to them by their order alone;
// revisions together with tokens, the beats of an incarnation, uids and counts of
// transitions by their place among all there are in that world, for machines only compare
// them, and a new one is higher than all before. (A token is the revision that its write
// replaced: the last one plus 1 is never more.) fields.go says which fields are compared in
// fewer ways than their type suggests; what it does not know takes the general form, which
// is safe but finds more states.
//
// The machine's state is read by reflection, since its fields are nobody else's business,
// and never made anew of a form: each state is explored from a world that got there. That
// what was taken for the same is the same is put to the test: Options.Confirm worlds that
// were merged are examined after the exploration, and all that follows from them must be
// what follows from the state that they were taken for.
//
// # What it does not cover
//
// Foreign electors and claims; session-renewed records; a restored store; jitter other than
// 0, since it moves instants by parts of a tick; more unknown writes at a time than a
// machine keeps in mind; streams that lag behind by more than a few events without being
// broken; clocks that differ in other ways than by a tick in a lease. More faults on one
// path than the budget: that is the simulator's part.
package explore
