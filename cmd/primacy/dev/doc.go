// Package dev runs a whole group on one machine, to look at and to play with: an API
// server (devcluster) and members of two revisions, each a process of its own.
//
// All that it shows comes from the API and from the exits of processes; members have no
// other way to report.
//
// # Goroutines and processes
//
// Run owns everything: one goroutine holds all state; the other goroutines wait for events and
// pass them to this one. When Run returns, all goroutines and processes have ended, and the temporary
// folder is gone. If this process is killed, the API server's standard input ends and the
// kernel sends each member SIGTERM, so they end too; the next run removes the folder.
package dev
