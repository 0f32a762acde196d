// Package configmap reads the preferred revision from one key of one ConfigMap in the
// namespace of the locks.
//
//	configMap: {name: primacy-revisions, key: default}
//
// White space around the value is no part of it. No ConfigMap, no such key, or an empty
// value mean that no revision is preferred. While the ConfigMap cannot be read, or its
// value is no revision, the last value stays and is tried again; before the first answer
// nothing is preferred and nothing moves. It needs list and watch on that ConfigMap.
//
// Goroutines: client-go reads the stream on one of its own, which has ended when Watch
// returns.
package configmap
