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
// subreaper. None of them can become another user (no_new_privs), whom we could not signal.
// What is to run as another user, or with limits, becomes so in a third process that then
// becomes the program (Confinement).
//
// When the supervisor itself is killed the kernel kills the program (PDEATHSIG), and our
// process the rest of its group. What left the group before is killed too if our process is
// its heir (Adopt), as primacy's is; else it lives on. If both our process and the supervisor
// are killed at the same moment, the program's children live on. When the supervisor is frozen our process kills it, and the program with it, when
// the program must be dead; nobody does where that is frozen or dead too.
//
// # Goroutines
//
// Start starts one for each process, which ends when nothing of the program lives.
package deadman
