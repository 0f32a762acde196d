// Package sweep removes the sessions of members that ended long ago. Where a session is not owned by a Pod, nothing else
// removes it: a member that comes back under a new name leaves a Lease behind each time.
//
// Only a session that has ended is removed, never one that has merely lapsed: its owner may go on (decision 5), and
// members must have ended it first. What an ended session still says, others may need:
//
//   - How long its member's longest lease was. Others wait by that for locks that have no known owner, until two such
//     leases after the end. So a session must have been seen unchanged for longer than that, by the clock of who removes
//     it. No time in a record counts for this.
//   - Whose the locks are that it renewed, who was proved dead, and who left. Members that find a lock whose session is
//     gone wait a lease instead of taking it at once; a rollout's check no longer knows of whose revision a member was.
//     So a session stays while the mark or the history of a lock names it or its member.
//   - How often members of its host fell (rule no-flapping). So it stays while a member of its host lives, and that member
//     or the next one uses its slot again. The sessions of a host go together, or none of them.
//
// Without these three nobody takes a lock too early that he takes later with them, and every lock is still taken:
// package machine waits out a lock whose session it does not know (rule unknown-is-waited-out). The removal is conditional
// on uid and revision, so a slot that is used again meanwhile stays.
//
// A Sweeper does that for as long as a member runs. Ended is what it goes by, for commands.
package sweep
