// Package controller drives the rollout of a group. It is the work of one of our elections,
// rollout-<group>: every member takes part in it, and the rollout moves it last.
//
// While its term lasts it watches the locks and sessions of the realm (the stores of the group), as
// every member does, makes a rollout.Seen of them, and writes the result of rollout.Advance into the
// status. Where one controller stops, the next goes on. In memory it keeps only since when it has seen its
// group without a gap, and since when each member has seen the same preference. The waits for elections on
// their way count no time before that, and begin anew if somebody sets the wall clock. It watches only while there is a rollout to drive.
//
// # Who may write
//
// The status carries the token of the term in which it was written. A controller first writes its own
// token there, conditional on what it has read. So a late write of an earlier controller meets a
// conflict. When that controller then reads again, it finds a token higher than its own.
//
// # When it believes what it sees
//
// Only while every stream of events that it reads is whole, and the controller has seen a recent beat
// of its own session. If its streams are held up, it would otherwise take the silence of all members
// for their death.
//
// Goroutines: Run starts one for each lock store; they have ended when it returns.
package controller
