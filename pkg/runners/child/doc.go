// Package child is what all kinds of runners whose work is a process share: the program's
// environment, its user and limits, and its output as lines of the log.
package child
