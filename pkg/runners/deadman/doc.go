//go:build linux

// Package deadman runs a program under a small supervisor of ours that kills it when its
// time is over, even if the process that started it is frozen or dead.
//
// The supervisor is a process of its own between ours and the program: this very
// executable, started again under another name, which never gets further than this
// package's initialization. It leads a session of its own, so that no signal for our
// process group or terminal reaches it, and it ignores signals that ask a process to end.
// We tell it one thing again and again: the instant on CLOCK_BOOTTIME at which the program
// dies unless we tell it a later one (a timerfd: it counts while the machine sleeps). It kills
//
//   - when that instant comes;
//   - when the pipe from our process ends, which happens however our process dies;
//   - what is left, when the program itself has ended.
//
// It kills the program, its process group, and everything that any of them has started, even
// processes that left the group (setsid) or whose parent has ended: it is their subreaper.
// None of them becomes another user by what it executes (no_new_privs). It starts no program
// that could lower itself to a user whom we may not signal (ErrCannotKill). A program with
// another user, or with limits, starts as a third process of ours, which confines itself and
// then becomes the program (Confinement).
//
// A guard watches over the supervisor: another process of ours between us and it, with an instant
// that is a little later. Each of the two kills everything when the other dies, and the guard kills
// a frozen supervisor. One of the two is enough, whatever happens to us. If both are killed, the
// kernel kills the program, unless that has changed its user or executed a file with capabilities
// since. Our process then kills the rest of the program's group. It also kills what left the group
// before, if it is the heir of that (Adopt), as primacy's process is; else that lives on. If both
// are frozen, or starved, or hang, our process kills all that they have below them when the program
// must be dead; if our process is frozen or dead too, nobody does.
//
// The kernel tells each process its own children, and no mount option of /proc hides those. A
// process that others start on the program's behalf (a service manager, a container runtime) is
// outside the tree, and not contained. If this process has a control group for itself (Within), each program has one below that,
// without its supervisor and guard. These two kill all that lives in it, descendants or not.
//
// # Goroutines
//
// Start starts two goroutines for each program; they end when nothing of the program lives. One of them
// waits for the guard's end, and has a thread to itself meanwhile.
package deadman
