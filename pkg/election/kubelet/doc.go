// Package kubelet hears what kubelets say of members' containers. A container that has ended is dead with all its
// processes: it has a process namespace of its own, and the kernel kills all in there when its first process ends.
//
// A member finds its own container with Find: its session records the id, and each incarnation writes its identity to
// the container's termination log. The kubelet publishes that text as the message of the container's end. A Listener, in
// any member, watches the Pods of its namespace. It ends a session only if one status of a Pod has both: the recorded id
// and the identity as the message (rule words-need-silence).
//
// Each of the two guards the other. A wrong id, such as that of an earlier start of the container which the Pod's status
// still shows, never stands beside our identity: each start has a termination log of its own, and an identity is made
// after the start. A wrong message, such as that of another container which writes our identity, never stands beside
// our id. So both mistakes cost a shortcut, and neither ends the session of a living member.
//
// A NodeListener hears the taint with which operators mark nodes as switched off.
package kubelet
