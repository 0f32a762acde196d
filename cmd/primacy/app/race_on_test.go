//go:build race

package app

// underRace: the race detector is at work, which takes ten times as long.
const underRace = true
