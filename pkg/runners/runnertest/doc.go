//go:build linux

// Package runnertest is the suite that every kind of runner passes, and the work that
// the runners under test do.
//
// A test of a kind calls Test. If the kind's work is a process, that process is the test binary
// itself: its TestMain calls Become first.
//
// How the suite knows what lives: every piece of work (process, helper of a process, or
// function) opens a named pipe for writing, reports in lines what it does, and keeps the
// pipe open as long as it exists. The kernel says at any moment whether a writer is left,
// and closes the pipe of a process before that becomes a zombie.
package runnertest
