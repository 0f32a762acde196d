// Package sim runs members of a group against a model of a store, deterministically, and
// judges every step. It is how we know that two members are never at work at once.
//
// Everything follows from a seed: the number of members and elections, the profile of
// timings, the rate of every clock, what goes wrong and when, and the fate of every
// request. There is no wall clock, no goroutine and no order of a map in it, so that a
// seed replays identically, byte for byte of its transcript.
//
// # What is real and what is a model
//
// Members are those of production: package member with its machines, session, directory, timers,
// queue of writes and what it knows of its watch, and the policies (package priority). What is
// simulated is what runs. The rest is a model:
//
//   - The store compares and swaps by uid and revision; revisions rise over the realm. A
//     request may be lost, refused, slow, answered late or never, or be carried out long
//     after its sender gave up.
//   - A stream shows every change in order, to each member with a delay of its own. It
//     stalls, breaks, resumes, or starts over with a list.
//   - The host of a member does what it asks for, as package election's does: it carries
//     requests and watches, and turns what is not answered into an unknown outcome.
//   - Work comes in two kinds. Functions die with their process. A child's supervisor
//     outlives a frozen or dead manager and kills the child at the last deadline granted,
//     on the clock of its host. Either may be slow to stop, or fail.
//   - Clocks have an offset and a rate. Timing.Drift is 2 %, and so is the greatest
//     deviation of a clock; half of all clocks run at one of the extremes.
//   - Electors that are not ours keep to the rules of client-go's, or of Istio's.
//
// # Electors that are not ours
//
// In a fifth of the judged seeds some elections are shared: with client-go's electors in
// three of four, else with Istio's; one or two of them in an election. An elector polls
// with requests that meet the fates of ours; it waits out the recorded duration from the
// last change that it saw (Istio's: 30 s of its own); it compares whole seconds; it writes
// the object as it knew it with other fields; it owns what bears its name, and some keep
// their name when they start again; stolen from, it works on until its renewDeadline, and
// takes the lock back where it can; its release blanks what it has not seen, in two of
// three after reading the object anew. Istio's steals inside its poll from whom its key
// outranks, and works at once. Electors crash, are stopped, told to leave, and cut off.
//
// Half of the shared locks are like ConfigMaps: their times are cut to whole seconds, and
// a write to one that is gone finds nothing rather than the wrong uid.
//
// Their model is simpler than they are. Work ends at once when it is told to. A process
// that was stopped until after its renewDeadline ends without working on, since nobody
// can know of it. Their clocks run true, so that all the drift is between them and us, and
// their duration is never longer than our leaseDuration, except Istio's. They see the
// preference within a second.
//
// # Members that differ
//
// In a fifth of the runs with long enough timings half of the members have shorter ones,
// another leaseDuration among them. In a sixth of all runs members have policies and
// delays of their own, and take part in fewer of the elections. In all runs members may
// miss an election, and one is added or removed at run time.
//
// Terms are renewed by sessions, by their records, or by both side by side, as a seed has it.
//
// # Hosts
//
// In half of the seeds all processes tell their members one thing at a time. In the other half all
// or some of them take in bursts, as the product's host does: what came while the process was
// stopped, was held up for up to a renewal interval, or within the same 2 ms, is told at once, in
// the order in which it came; timers may go first where both wait. Work is killed at its deadline,
// where the product's guard tells it to stop a grace before that.
//
// # Rollouts
//
// In the class of scenarios named Rollouts the preferences follow from a rollout. Operators
// start, abort, retry, pause, resume and promote it, and change the default; the controller is
// the real step (rollout.Advance) with the real checks, as work of the last election. It is
// paused and killed like any work, sees what its member sees, and writes late. Objected to is a
// rollout that goes back a step, takes an election back without being taken back itself, goes
// on after that, or is still under way at the end.
//
// # Moves
//
// In the class of scenarios named Moves locks are kept apart from the sessions and watched by their
// names, or beside them; elections have ranges, or move from one lock to another as docs/moving.md
// has it: while they run, members are given both locks, one after the other, and then the new one
// alone, once all go by both; some are taken back half-way, and some go back when they are done. Wall
// clocks are up to half a minute off. Judged besides is that ranges of different terms share no
// moment. Not judged of an election that moves are its preference, how often it moves in calm, and what
// it gives up; and who has ranges keeps the lock object that it has, since a process that starts anew
// cannot know of a range of which nothing tells.
//
// # Outages
//
// In the class of scenarios named Outages the store falls silent for all members alike, and the terms
// of some elections outlast that. Nobody is cut off alone there, and no lock is edited: either gives the
// guarantee away, as docs/ranges.md says. All judges stand; a term that fails open is granted more than
// its last write allows, but not more than its configuration does. One overlap is counted and not objected
// to, which that page calls the price: the member of a term that failed open died or was frozen in silences
// of which none was long enough to be noticed.
//
// # Faults
//
// A seed picks the kinds of fault that it will see, how dense they are, and when each
// happens; the kinds are those of the Fault constants. Each is counted when it has taken
// effect, not when it was planned. For the last part of a run nothing goes wrong any
// more, and liveness is judged.
//
// What the guarantee leaves out is left out here: a stranger never rewrites a lock's record
// consistently with our annotation. It edits a session in one of the three places that say how long the
// session lasts, gives it to another group, or puts back what it said before, even after its end. A
// member that did not see the end may go on then: that is not judged, but what comes of it is. No lock
// that is deleted has `bootstrap: immediate`, and a store is restored only in the class of scenarios
// named Restore, in which overlaps and tokens are not judged, and no lock is shared. Where leaseDurations differ nothing is
// deleted or corrupted: who has the shorter one may wait too briefly then. Where others
// share the lock it is not deleted, nor are its holder or its duration edited to what lets
// them in at once; nor is it corrupted where their duration is longer than our
// leaseDuration, as Istio's 30 s are: a member that joins later cannot know of it, and waits
// twice its own leaseDuration.
//
// # Judges
//
// Safety, after every step: at most one work at a time in an election, in simulated real
// time; tokens of started terms rise, and tokens in the store do; starts and stops are
// paired, with nothing granted after a stop; a term starts on a committed take of its own
// and is never granted more than its last committed write allows; a lock is released
// only after the work; a live term is not overwritten; beats rise; a session is ended by
// another only once it has lapsed, and never beats again; a stop comes early enough for
// the grace. Every run first shows the judge of overlaps a planted one, which it must see.
//
// Beside other electors: work of ours never overlaps with work of theirs, but where Istio's
// stole the lock from us (then we must stop when we first see it, like after any loss), where
// client-go's had released before its work had stopped, and where a hung release lets it
// work for longer than twice its duration, and where an elector of Istio's was robbed by
// another before the member of ours came, and that other one released. Who leads where Istio shares the lock gives it up
// as soon as it hears that another revision is preferred. What they do to each other is not
// judged, but that we never free a lock, by a release or a claim that ends too early, while
// one of them is still at work.
//
// Liveness, once nothing goes wrong any more: every election with a living member, or a living elector,
// is led within the bound that livenessBound states, the preferred member leads within that of
// preferenceBound, and leadership does not move more often than termsInCalm. Throughout, nobody writes,
// reads or wakes up in a hot loop.
//
// # Growing
//
// Each part has its place: what a store or a stream does is in store.go, link.go and stream.go; how a
// host takes things in is in burst.go; a new kind of fault is a constant in coverage.go, a line of planned
// in faults.go and a function there or in strangers.go; another elector is another kind of host beside
// host.go and elector.go.
package sim
