//go:build !race

package hostile_test

const oneIn = 1
