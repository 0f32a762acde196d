//go:build linux

// Package child is what the kinds of runners whose work is a process have in common: the program's
// environment, its user and limits, and its output as lines of the log.
package child
