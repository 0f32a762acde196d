//go:build linux

package deadman

import (
	"testing"
	"testing/synctest"
)

// TestOneLookMayMissAProcess checks that a look which finds nothing is not believed before others that find nothing follow it.
func TestOneLookMayMissAProcess(t *testing.T) {
	for _, misses := range [][]bool{{false, true}, {true, false, true}, {false, false, true}, {false, true, false, false, true}} {
		synctest.Test(t, func(t *testing.T) {
			looks := 0
			untilNothing(func() bool {
				looks++
				return looks <= len(misses) && misses[looks-1]
			})
			if want := len(misses) + emptyLooks; looks != want {
				t.Errorf("%v: %d looks, want %d", misses, looks, want)
			}
		})
	}
}
