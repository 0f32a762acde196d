// Package member is one incarnation of a member as a value: it drives the machines of all its
// elections, its session, the directory of the others, its timers, what waits to be written and
// in which order, and what is known of each watch.
//
// A Member is stepped. It is told what happens (Input), and answers with what is to be done
// (Effect); a host does that, and decides nothing. Package election has the host that works in
// earnest, with goroutines, stores and guards of work. The idea is that of etcd-io/raft, whose
// RawNode is stepped by whoever drives it: what is proven is what runs.
//
// The contract of a step: no goroutine, channel or lock, no clock, no randomness but that of its
// own generator, no order of a map, no I/O. Told the same at the same instants, two Members with
// the same Config do the same. Effects are data; what an input or an effect points to is never
// written to again.
//
// What cannot wait for a step is the host's: the guard that ends work at its deadline even if
// nobody steps the member in time, and the end of the process where work outlives it.
package member
