// Package configmap reads the preferred revision from one key of one ConfigMap in the
// namespace of the locks.
//
//	configMap: {name: primacy-revisions, key: default}
//
// White space around the value does not count. If there is no such ConfigMap or key, or the value
// is empty, no revision is preferred. While the ConfigMap cannot be read, or its value is no
// revision, the last value stays and we try again. Before the first answer nothing is preferred
// and nothing moves. The source needs list and watch on that ConfigMap.
//
// Goroutines: client-go reads the stream on one of its own, which has ended when Watch
// returns.
package configmap
