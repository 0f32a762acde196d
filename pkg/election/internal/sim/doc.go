// Package sim runs members of a group against a model of a store, deterministically, and
// judges every step. It is how we know that two members are never at work at once.
//
// Everything follows from a seed: the number of members and elections, the profile of
// timings, the rate of every clock, what goes wrong and when, and what happens to every
// request. The package uses no wall clock, no goroutine and no map order, so a seed replays
// identically: its transcript is the same byte for byte.
//
// # What is real and what is a model
//
// The members are production code: package member with its machines, session, directory, timers,
// write queue and watch state, and the policies (package priority). The rest is a model:
//
//   - The store compares and swaps by uid and revision; revisions rise across all objects. A
//     request may be lost, refused, slow, answered late or never, or carried out long
//     after its sender gave up. It may deny a member its session, or single locks, for a while or for good.
//   - A stream shows every change in order, to each member with a delay of its own. It
//     stalls, breaks, resumes, or starts over with a list.
//   - The host of a member does what the member asks for, as package election's host does: it
//     sends its requests, keeps its watches, and reports a request without an answer as an unknown
//     outcome.
//   - Work comes in two kinds. Functions die with their process. A child's supervisor
//     outlives a frozen or dead manager and kills the child at the last deadline granted,
//     by the clock of its host. Either may be slow to stop, or fail.
//   - Clocks have an offset and a rate. Timing.Drift is 2 %, and no clock deviates by more;
//     half of all clocks run at one of the extremes.
//   - Foreign electors follow the rules of client-go's, or of Istio's.
//
// # Electors that are not ours
//
// In a fifth of the seeds of the classes Judged, PutBack and Outages some elections are shared with one or two foreign electors
// each: client-go's in three of four such seeds, else Istio's. Such an elector:
//
//   - polls with requests that meet the same fates as ours;
//   - waits for the recorded duration after the last change that it saw (Istio's: for its own 30 s);
//   - compares whole seconds, and writes the object as it knew it with other fields;
//   - owns the lock if the lock bears its name; some keep their name across restarts;
//   - works on until its renewDeadline after a theft, and takes the lock back if it can;
//   - blanks, when it releases, even a record that it has not seen; two of three electors first
//     read the object again.
//
// An elector of Istio's whose key outranks the holder's steals the lock within its poll, and works
// at once. Electors crash, are stopped, are told to leave, and are cut off.
//
// Half of the shared locks are like ConfigMaps: their times are cut to whole seconds, and
// a write to one that is gone finds nothing rather than the wrong uid.
//
// The model simplifies. Work ends as soon as its elector tells it to. An elector's process that was
// stopped until after its renewDeadline ends without working on, since nobody can know of it.
// Electors' clocks run true, so all drift is between them and us. Their duration is never longer
// than our leaseDuration, except Istio's. They see the preference within a second.
//
// # Members that differ
//
// In a fifth of the runs with long enough timings half of the members have shorter timings,
// leaseDuration included. In a sixth of all runs members have policies and
// delays of their own, and take part in fewer of the elections. In all runs members may
// miss an election, and elections are added and removed at run time.
//
// The seed decides what renews terms: sessions, their records, or both side by side.
//
// # Hosts
//
// In half of the seeds every process tells its member one thing at a time. In the other half
// all or some processes take in input in bursts, as the product's host does: the process tells its
// member at once, in order, what arrived while the process was stopped, while it was held up (for up
// to a renewal interval), or within the same 2 ms. A timer may go before a waiting burst. Work is
// killed at its deadline; the product's guard tells work to stop a grace before that.
//
// # Rollouts
//
// In the class Rollouts the preferences follow from a rollout. Operators start, abort, retry,
// pause, resume and promote it, and change the default. The controller is the real step
// (rollout.Advance) with the real checks, as work of the last election. It is paused and killed
// like any work, sees what its member sees, and writes late. The judge objects to a rollout that
// goes back a step, that takes an election back without being taken back itself, that goes on after
// it was taken back, or that is still under way at the end.
//
// # Moves
//
// In the class Moves locks are stored apart from the sessions or beside them. In some runs the
// store apart is watched as a whole, in the others by name. Elections have ranges, or move from one lock to another while they run, as
// docs/moving.md describes: members are given both locks, one member after the other, and then the
// new lock alone once all use both. Some moves turn back half-way, and some go back when they are
// done. Wall clocks are up to half a minute off.
//
// Only this class judges that ranges of different terms never overlap. An election that moves is
// not judged on its preference, on how often it moves in calm, or on a term that it gives up without
// a loss. Nobody deletes or edits the lock of an election with ranges: a new process could not know
// of a range that no object records.
//
// # Locks that are put back
//
// In the class PutBack a stranger also puts locks back as they were in earlier terms, or between two, as from a backup. Often the
// lock's leader is cut off then, and often something else takes its record away a moment before. All judges apply, with one
// exception: if the put-back came after the term's take, and the process was never shown that term or the session of its holder, it cannot
// know of them, so its overlap with that term is only counted. Foreign electors share some of the locks. Then nobody puts back what
// lets such an elector in at once: a release, or the very record that it read last.
//
// # Outages
//
// In the class Outages the store falls silent for all members alike, and the terms of some
// elections outlast the silence. Requests also get lost one by one, and in half of the seeds the writes of one lock hang for a while, for one
// member or for all, while everything else goes through. No member is cut off alone, and no lock is edited: either breaks the
// guarantee, as docs/ranges.md says. All judges apply. A term that fails open may be granted
// more than its last write allows, but not more than its configuration allows. One kind of overlap is
// only counted, since docs/ranges.md states it as the price: the member of a term that failed open
// died or was frozen, and no silence was long enough to be noticed.
//
// # Settings
//
// In the class Settings operators change elections while members run, and give the change to one host after the other: what renews
// terms, delays, policies, what a proof means, whether a new lock is waited for, and leaseDurations. Each of these changes in some seeds
// only. A running member exchanges the election: it gives the old contest up, and takes part anew once that one owes nothing any more.
// Often it exchanges several at once. A host whose process is dead, stopped or leaving keeps what it was given for later. The
// leaseDuration of the document counts from the next process on. Some changes begin before the last one is out.
//
// In a third of the seeds elections also begin or cease to fail open. These seeds have the faults of the class Outages.
//
// Each contest is judged by the settings that it was given. All judges apply, and docs/reload.md and docs/death.md ask that members agree, so two
// kinds of overlap are only counted: a member whose terms do not fail open took the lock beside a term that did, and saw no living holder
// that says so; and a member without OnDeathLease took the lock before the end of what a dead member with OnDeathLease handed on. Ranges, locks and
// sharing do not change.
//
// # Parents
//
// In half of the seeds all or some processes have a parent. When a process has died, its parent kills what it left
// behind. Once all its work has ended, the parent ends its session by the product's session.Bury: mostly within a moment, in some seeds
// after any delay, when the slot may have another member already. It may stand still between its read and its
// write, and it knows of a session before that is created. The judge objects to an end while anything of the process's work
// goes on; TestAProofWhileWorkGoesOnIsSeen and TestHalfDeadMembersAreSeen plant that.
//
// A quarter of the elections that foreign electors do not share and that do not fail open have OnDeathLease. A member of
// such an election hands work on when it dies, and that work goes on until its deadline. Some elections whose terms sessions
// renew are renewed by their records once an elector of another kind held the lock; some of their locks begin with what such
// an elector left. The judge objects to a take of a record within a lease of its holder's last beat, unless a parent proved that holder
// dead and a proof frees such locks.
//
// # Words
//
// In a third of the seeds kubelets and operators say that members are dead. They speak of members that live, are frozen, cut off,
// dead, or dead but for their work; of members whose slot has another one by now; and of one member as if it were another. Not all members accept
// all words. Each speaker decides by the product's session.Word and session.Taint. Its reads and writes get lost or come late,
// its clock is as far off as those of members, it may stand still between any two steps, and it may repeat a word that was refuted.
//
// The judge objects to a word that ends the session of another member, or of one that does not accept the word or has beaten since;
// and to one that did not wait for two renewIntervals in which the store answered. Nobody proves a word. So if the work of the
// member goes on, that is the speaker's error, and the judge excuses an overlap with what the member's session renewed. It excuses
// nothing else: no overlap with what records renew, and none if the member was dead with all its work.
//
// # Requests
//
// In a third of the seeds operators force handovers: they write the name of a member into the record of a term. They read the lock
// a while before, try again after a conflict as long as the term lasts, and sometimes take the request back. They name members that
// live, and some that are dead, leave, or take no part. Where an election moves they write into both of its locks, or into one. A
// stranger's edit of that name (HandoverEdited) is such a request, too. The judge objects to a take that keeps a request, to a term
// that ends by a request although nobody asked that term, and to one that ends for a member that would not take the lock.
//
// # Operators' words
//
// In a fifth of the seeds, except those of the class Rollouts, operators pin elections to hosts, drain hosts, and pause elections, with takeovers or
// without. They take all of it back before the calm. The judge objects to a take by a member that knows that nobody may take the lock.
//
// # Missing rights
//
// In a sixth of the seeds, except those of the class Outages, the store refuses a member's writes of one lock while its other requests go
// through, or those of all members. Most such denials last for some leases. A third of those that strike one member are never mended: the
// judge then expects the other members to lead. In half of these seeds the store also refuses that a member updates its session, for a
// while or for good; the member may create another one.
//
// # Faults
//
// A seed picks the kinds of fault that it will see, how dense they are, and when each
// happens; the kinds are those of the Fault constants. A fault is counted when it has taken
// effect, not when it was planned. In the last part of a run, the calm, nothing goes wrong
// any more, and liveness is judged.
//
// The simulation leaves out what the guarantee leaves out:
//
//   - A stranger (a writer that is no elector) never rewrites a lock's record consistently with our
//     annotation, except in the class PutBack with what members once wrote to it.
//   - A stranger edits a session in only one of the three places that say how long it lasts. It
//     also gives the session to another group, raises its beat, or puts back what the session said before, even
//     after its end. A member that did not see the end may then go on: the judge objects only
//     to the consequences.
//   - A lock that is deleted never has `bootstrap: immediate`.
//   - A store is restored only in the class Restore, which does not judge overlaps and tokens,
//     and shares no lock.
//   - Where leaseDurations differ nothing is deleted or corrupted: a member with the shorter one
//     might wait too briefly.
//   - A shared lock is not deleted, and its holder and duration are not edited such that an elector
//     gets in at once. A shared lock is not corrupted if the electors' duration is longer than our
//     leaseDuration, as Istio's 30 s may be.
//
// # Judges
//
// Safety, after every step: at most one work at a time in an election, in simulated real
// time; tokens of started terms rise, and tokens in the store do; starts and stops are
// paired, with nothing granted after a stop; a term starts on a committed take of its own
// and is never granted more than its last committed write allows; a lock is released
// only after the work; a live term is not overwritten; beats rise; another member ends a
// session only once it has lapsed, a parent only when nothing of its process lives, a word only after a silence, and an ended session never beats again; a stop comes early
// enough for the grace. Every run first plants an overlap, which the judge must see.
//
// Where foreign electors share the lock, work of ours never overlaps with work of theirs, except where:
//
//   - Istio's elector stole the lock from us; then we must stop when we first see the theft, as after
//     any loss;
//   - client-go's elector had released the lock before its work had stopped, and soon after two renewals;
//   - one elector of Istio's had robbed another before our member came, and then released the lock.
//
// A leader of ours gives up a lock that it shares with Istio as soon as it hears that another
// revision is preferred. What electors do to each other is not judged, except that we never free
// a lock, by a release or by a claim that ends too early, while one of them is still at work.
//
// Liveness, in calm: an election with a living member or elector has a leader within
// livenessBound, the preferred member leads within preferenceBound, and leadership does not move
// more often than termsInCalm. Throughout, nobody writes, reads or wakes up in a hot loop.
//
// # Growing
//
// Each part has its place. What a store or a stream does is in store.go, link.go and stream.go;
// how a host takes in input is in burst.go. A new kind of fault needs a constant in coverage.go, a
// row of the table planned in faults.go, and a function there or in strangers.go. Another elector
// needs a file like elector.go.
package sim
