// Package cgroup gives a process tree a control group of its own, so that it can be killed, counted and limited as a whole.
//
// The kernel forgets from whom a process descends when the process enters another process namespace and its starter dies.
// It does not forget the group: every process stays in the group in which it was born, unless somebody with the right to
// do so moves it. The kernel kills all members of a group at once (cgroup.kill), and says whether any lives (cgroup.events).
//
// A group is made below the group of this process, which must be of version 2. Service managers want to be asked
// first: systemd allows it with Delegate=yes, and marks the group. Needs Linux 5.14.
//
// Where the controllers memory and pids were handed down to the group of this process, a program gets a group with limits
// that hold for it together with all that it starts (Limited). Group.Trees says so, or why not.
//
// The process that makes a group holds a lock on its folder (flock), so that a later process can tell whether the
// maker lives; Close and Remove give it back. Divide kills all that is left in groups whose makers have died.
package cgroup
