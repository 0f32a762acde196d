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
var soakShares = map[Class]uint64{Restore: 10, Moves: 20, Outages: 20, PutBack: 20, Rollouts: 50}

// TestSoak runs seeds up to PRIMACY_SOAK_SEEDS. It writes its progress into the file PRIMACY_SOAK, and
// the next run continues from there. It does not stop at a violation: each is printed, noted in the file
// with ".violations" added to its name, and fails the test once all seeds have run.
func TestSoak(t *testing.T) {
	file := os.Getenv("PRIMACY_SOAK")
	if file == "" {
		t.Skip("PRIMACY_SOAK=file is not set: make soak sets it")
	}
	last, err := strconv.ParseUint(os.Getenv("PRIMACY_SOAK_SEEDS"), 10, 64)
	if err != nil {
		t.Fatalf("PRIMACY_SOAK_SEEDS: %v", err)
	}
	done := readProgress(t, file)
	for done < last {
		n := min(soakBatch, last-done)
		start := time.Now()
		found := soakClass(t, file, Judged, done+1, n)
		for _, c := range Classes[1:] {
			share := soakShares[c]
			found += soakClass(t, file, c, done/share+1, n/share)
		}
		done += n
		if err := os.WriteFile(file, []byte(strconv.FormatUint(done, 10)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%d of %d seeds, %d violations; %.0f seeds/s\n", done, last, found, float64(n)/time.Since(start).Seconds())
	}
	if text, err := os.ReadFile(file + violations); err == nil {
		t.Errorf("violations (remove %s to forget them):\n%s", file+violations, text)
	}
}

// violations is added to the name of the soak's file for the file that keeps what it found.
const violations = ".violations"

// readProgress returns how many seeds the file says have run: none if there is no file.
func readProgress(t *testing.T, file string) uint64 {
	t.Helper()
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	done, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		t.Fatalf("%s: %v (remove the file to begin anew)", file, err)
	}
	return done
}

// soakClass runs n seeds of a class from first on, goes on after each violation, and returns how many
// there were.
func soakClass(t *testing.T, file string, c Class, first, n uint64) (found int) {
	t.Helper()
	for end := first + n; first < end; {
		_, _, failed := sweep(first, end-first, Options{Class: c})
		if failed == nil {
			return found
		}
		found++
		t.Error(explain(failed))
		if err := note(file+violations, fmt.Sprintf("%v:%d %s\n", failed.Class, failed.Seed, failed.Violation)); err != nil {
			t.Fatal(err)
		}
		first = failed.Seed + 1
	}
	return found
}

// note appends a line to a file.
func note(file, line string) (err error) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.WriteString(line)
	return err
}
