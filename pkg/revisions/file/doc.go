// Package file reads the preferred revision from the first line of a file.
//
//	file: {path: /etc/primacy/revision}
//
// White space around the line does not count. The line means:
//
//   - no file yet: not synced. Nothing is delivered and nothing moves until there is one;
//   - an empty first line: no revision is preferred;
//   - a revision: that revision is preferred.
//
// The last value stays while the file is missing again, cannot be read, or holds something that
// is no revision. To prefer no revision, empty the file; removing it is not enough.
//
// We watch the directory, so we see when somebody replaces the file, and when kubelet swaps the links
// in the mount of a ConfigMap. We also look twice a minute. So changes without an event in that
// directory come late, but they come: those behind a link into another directory, and those that
// another machine makes on a network file system.
//
// Goroutines: fsnotify reads events on one of its own, which has ended when Watch returns. Watch does not return while the disk
// does not answer.
package file
