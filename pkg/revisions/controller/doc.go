// Package controller drives the rollout of a group. It is the work of one of our elections,
// rollout-<group>: every member takes part in it, and the rollout moves it last.
//
// While its term lasts it watches the locks and sessions of the realm, as every member does,
// makes a rollout.Seen of them, and writes the result of rollout.Advance into the status. Its
// decisions depend on nothing in memory: where one controller stops, the next goes on. It watches
// only while there is something to drive.
//
// # Who may write
//
// The status carries the token of the term in which it was written. A controller first writes its
// own token there, conditional on what it has read. So a late write of an earlier controller meets
// a conflict, and when that reads again, it finds a token higher than its own.
//
// # When it believes what it sees
//
// Only while every stream that it reads is whole, and shows a recent beat of its own session. A
// controller whose streams are held up would otherwise take the silence of all for their death.
//
// Goroutines: Run starts one for each lock store; they have ended when it returns.
package controller
