// Package controller drives the rollout of a group: it is the work of an election of ours,
// rollout-<group>, which every member takes part in and the rollout itself moves last.
//
// While its term lasts it watches the locks and sessions of the realm, as every member does,
// makes a rollout.Seen of them, and writes what rollout.Advance makes of that into the status.
// It keeps nothing in memory that counts: where one controller stops, the next goes on. While
// there is nothing to drive it watches nothing.
//
// # Who may write
//
// The status carries the token of the term in which it was written. A controller writes its
// own there before it does anything else, conditional on what it has read; so what an earlier
// one sends late meets a conflict, and when it reads again, a token higher than its own.
//
// # When it believes what it sees
//
// Only while every stream that it reads is whole, and shows its own session beating: one that
// was held up would otherwise take the silence of all for their death.
//
// Goroutines: Run starts one for each lock store, which have ended when it returns.
package controller
