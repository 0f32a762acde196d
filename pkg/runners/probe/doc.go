//go:build linux

// Package probe asks from outside whether a program could work, before it runs:
//
//	ready:
//	  command: [./bin/can-write, --quick]   # status 0 means yes
//	  # or  file: /run/writer/ready         # it exists
//	  # or  http: http://127.0.0.1:8080/ready   # the answer is 2xx
//	  period: 5s      # between two probes
//	  timeout: 5s     # for each
//	  failures: 3     # in a row, until a ready runner counts as not ready
//	  successes: 1    # in a row, until a runner that was not ready counts as ready
//
// A program works during terms only, so it cannot say this itself. A Probe implements the Readiness of
// package election; the runner's kind lends it the program's user, limits, directory and environment.
//
// A command runs under a supervisor of ours (package deadman): it is killed with all that it has started
// at its timeout, when it ends, when the election ends, and when this process dies. Nothing of it stays.
//
// # Goroutines
//
// Readiness starts one for each probe and joins it, even if the probe hangs in the kernel. All probes
// that share Turns wait for one another: as many run at a time as Turns has room for, however many there are.
package probe
