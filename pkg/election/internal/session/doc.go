// Package session keeps the sessions of a group's members. Each member has one, a Lease of its own that it
// renews by numbered beats. All sessions together are the Directory: it shows which members live and what
// they publish. A session ends once, for good (rule a-session-ends-once).
//
// Own is this member's session, Directory everybody's. Both are plain state: a caller passes in what
// happened and when, and gets back what to do. They have no clock, no I/O and no goroutine. One goroutine
// owns both.
package session
