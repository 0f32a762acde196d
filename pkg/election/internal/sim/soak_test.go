package sim

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// soakBatch is the number of seeds between two writes of the state.
const soakBatch = 5000

// soakShares says how many schedules of the class Judged run for each one of another class. Classes whose
// schedules take longer run less often.
var soakShares = map[Class]uint64{Restore: 10, Moves: 20, Outages: 20, Rollouts: 50}

// TestSoak runs seeds up to PRIMACY_SOAK_SEEDS. It writes its progress into the file PRIMACY_SOAK, and
// the next run continues from there.
func TestSoak(t *testing.T) {
	file := os.Getenv("PRIMACY_SOAK")
	if file == "" {
		t.Skip("PRIMACY_SOAK=file is not set: make soak sets it")
	}
	last, err := strconv.ParseUint(os.Getenv("PRIMACY_SOAK_SEEDS"), 10, 64)
	if err != nil {
		t.Fatalf("PRIMACY_SOAK_SEEDS: %v", err)
	}
	done := uint64(0)
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		t.Fatal(err)
	default:
		if done, err = strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err != nil {
			t.Fatalf("%s: %v (remove the file to begin anew)", file, err)
		}
	}
	for done < last {
		n := min(soakBatch, last-done)
		start := time.Now()
		if _, _, failed := sweep(done+1, n, Options{Class: Judged}); failed != nil {
			t.Fatal(explain(failed))
		}
		for _, c := range Classes[1:] {
			share := soakShares[c]
			if _, _, failed := sweep(done/share+1, n/share, Options{Class: c}); failed != nil {
				t.Fatal(explain(failed))
			}
		}
		done += n
		if err := os.WriteFile(file, []byte(strconv.FormatUint(done, 10)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%d of %d seeds, no violation; %.0f seeds/s\n", done, last, float64(n)/time.Since(start).Seconds())
	}
}
