//go:build race

package hostile_test

// oneIn: one act in so many is tried, since the race detector costs too much time for all of
// them. All acts run the same code concurrently.
const oneIn = 6
