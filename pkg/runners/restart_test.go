package runners

import (
	"testing"
	"time"
)

func TestWaitDoublesUpToTheMost(t *testing.T) {
	want := []time.Duration{500, 500, 1000, 2000, 4000, 8000, 10_000, 10_000}
	for failures, ms := range want {
		if got := DefaultRestart.wait(failures, 0.5); got != ms*time.Millisecond {
			t.Errorf("after %d failures: %v, want %v", failures, got, ms*time.Millisecond)
		}
	}
	if got := DefaultRestart.wait(1<<40, 0.5); got != DefaultRestart.Most {
		t.Errorf("after very many failures: %v", got)
	}
}
