// Package file reads the preferred revision from the first line of a file.
//
//	file: {path: /etc/primacy/revision}
//
// White space around the line is no part of it. What it means:
//
//   - no file yet: not synced. Nothing is delivered and nothing moves until there is one;
//   - an empty first line: no revision is preferred;
//   - a revision: that one is.
//
// While the file is missing again, cannot be read, or says what is no revision, the last
// value stays. So a file that is taken away does not mean that none is preferred: empty it.
//
// The directory is watched, so a file that is replaced is seen, and so are the links that
// kubelet swaps in the mount of a ConfigMap. What a link to another directory leads to is
// read, but its changes there are not seen; nor are those that another machine makes on a
// network file system.
//
// Goroutines: fsnotify reads events on one of its own, which has ended when Watch returns.
package file
