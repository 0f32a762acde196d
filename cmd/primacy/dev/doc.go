// Package dev runs a whole group on one machine, to look at and to play with: an API
// server (devcluster) and members of two revisions, each a process of its own.
//
// What is shown comes from the API and from what became of the processes; there is no
// other way from a member to here.
//
// # Goroutines and processes
//
// Run owns everything: one goroutine holds all state, others only wait for something and
// tell it. When Run returns all of them and all processes have ended, and the temporary
// folder is gone. If this process is killed, the API server's standard input ends and the
// kernel sends each member SIGTERM, so they end too; the folder is then removed by the
// next run.
package dev
