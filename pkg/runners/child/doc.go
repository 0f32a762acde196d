// Package child is what every kind of runner whose work is a process tells it and hears
// from it: its environment, its user and limits, and its output as lines of the log.
package child
