// Package session is about the members of a group: each has a session, a Lease of its
// own that it renews by numbered beats, and all sessions together are the Directory of
// who lives and what they publish. A session ends once, for good (rule a-session-ends-once).
//
// Own keeps this member's session, Directory knows everybody's. Both are plain state:
// they are told what happened and when, and say what to do; they have no clock, no I/O
// and no goroutine. One goroutine owns both.
package session
