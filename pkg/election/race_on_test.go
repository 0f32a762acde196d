//go:build race

package election_test

// underRace: the race detector makes everything larger.
const underRace = true
