// Package record holds the plain data that every part of Primacy shares: what a
// lock object says (Record), who takes part (Member, Key), what fences writes
// (Token), and how long everything lasts (Timing).
//
// It is a leaf: it imports nothing of ours and knows no codec and no clock.
// Values are safe to share between goroutines as long as nobody writes to them.
package record
