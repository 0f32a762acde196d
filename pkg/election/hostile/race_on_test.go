//go:build race

package hostile_test

// oneIn is how many acts there are for each that is tried: the race detector costs too
// much time for all of them, and they do not differ in what runs beside what.
const oneIn = 6
