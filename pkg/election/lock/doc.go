// Package lock is the contract between Primacy and the stores of its records: a
// compare-and-swap Store for one realm, with a watch that shows every change.
//
// A Store is safe for concurrent use. It starts no goroutine that outlives the call
// that needed it. The suite that every Store passes is in lock/locktest.
package lock
