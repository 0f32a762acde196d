//go:build race

package app

// underRace: the race detector is on; tests take ten times as long.
const underRace = true
