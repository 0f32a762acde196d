package sim

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage pile up: a run is short-lived, small, and all garbage.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}
