// Package member is one incarnation of a member as a value. It drives the machines of all its
// elections, its session, the directory of the others, its timers, its write queue and its watches.
//
// A host steps a Member: each step takes Inputs (what happened) and returns Effects (what to do). The
// host does them, and decides nothing. The production host is in package election, with goroutines,
// stores and guards of work; the simulator is another host, so it tests the code that runs. The idea is
// that of RawNode in etcd-io/raft.
//
// The contract of a step: no goroutine, channel or lock, no clock, no randomness except that of its own
// generator, no map order, no I/O. Given the same Config and the same inputs at the same instants, two
// Members do the same. Effects are data. Nobody writes to what an input or an effect points to.
//
// The host itself does what cannot wait for a step: its guard ends work at the deadline even if nobody
// steps the member in time, and it ends the process if work outlives its deadline.
package member
