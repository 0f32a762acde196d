// Package parent gives a process a small parent that outlives it, and can prove its death.
//
// A lease exists because nobody can know whether a silent member is dead. Its parent process can: the kernel
// tells it when the member ends, and hands it everything that the member has started (it is the subreaper of
// all of them). Once the kernel says that the parent has no child at all, the member and all its work are dead,
// and the parent may end the member's session at once.
//
// Start makes the process its own parent: it executes the same program again, which goes no further than this
// package's initialization, and that starts the program a second time, as the member. So the parent keeps the
// process id that the user, a service manager or a container runtime knows, and needs little memory. When the
// member has died, the parent's initialization goes on as usual while what is left of the member is killed. Its
// main then finds a Dead (Bereaved).
//
// The parent passes on SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1 and SIGUSR2. In the foreground of a terminal it keeps
// the first three to itself, since the terminal sends them to the member as well. It kills a member that lives on 15 s after
// a second SIGTERM or SIGINT that it passed on, 2 s or more after the first. If the parent dies, the
// Line of the member is broken.
//
// Processes that others start on the member's behalf (a service manager, a container runtime) are no
// descendants, and neither is a process that enters another process namespace and starts children there. What
// such processes do is not proved to be over.
//
// All this needs Linux. Elsewhere the package compiles, Start returns ErrUnsupported, and Bereaved is nil.
//
// # Goroutines
//
// In the member, Line.Broken starts one goroutine, which lives as long as the process. In the parent one goroutine
// passes signals on, as long as the process lives, and one reaps, until nothing is left of the member.
package parent
