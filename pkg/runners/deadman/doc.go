// Package deadman runs a program under a small supervisor of ours that kills it when its
// time is over, even if the process that started it is frozen or dead.
//
// The supervisor is a process of its own between ours and the program: this very
// executable, started again under another name, which never gets further than this
// package's initialization. It leads a session of its own, so that no signal for our
// process group or terminal reaches it, and ignores what asks a process to end. It is told
// one thing again and again: the instant on CLOCK_BOOTTIME at which the program dies
// unless a later one is told (a timerfd: it counts while the machine sleeps). It kills
//
//   - when that instant comes;
//   - when the pipe from our process ends, which happens when that dies, however it dies;
//   - what is left, when the program itself has ended.
//
// What it kills is the program, its process group, and everything that any of them has
// started, also what left the group (setsid) or whose parent has ended: it is their
// subreaper. None of them becomes another user by what it executes (no_new_privs), and no
// program is started where one could lower itself to a user whom we may not signal
// (ErrCannotKill).
// What is to run as another user, or with limits, becomes so in a third process that then
// becomes the program (Confinement).
//
// The supervisor is watched over itself, by a guard: another process of ours between, which
// knows an instant that is a little later. Each of the two kills everything when the other
// dies, and the guard kills a supervisor that is frozen. One of the
// two is enough, whatever becomes of us. When both are killed the kernel
// kills the program, unless that has become another user's or executed a file with capabilities
// since, and our process kills the rest of its group. What left the group before is killed too if our process is
// its heir (Adopt), as primacy's is; else it lives on. When both are frozen, or starved, our process kills
// all that they have below them when the program must be dead; nobody does where that is frozen or dead too.
//
// Whom to kill the kernel tells each process of its own children, and no mount option of /proc
// hides those. What leaves the tree by the help of others, who start it in its stead (a service
// manager, a container runtime), is not contained.
//
// # Goroutines
//
// Start starts one for each process, which ends when nothing of the program lives.
package deadman
