// Command soak tries many simulated schedules of the product's member, and keeps in a file what it has tried. When it is stopped
// and started again it goes on from there, as long as it is the very same binary.
//
//	soak FILE SEEDS
//
// It runs the seeds 1 to SEEDS of the class sim.Judged, and a share of each other class. It goes on after a violation: it prints
// it and notes it in the file. Its exit status is 1 if any seed of the file's soak was violated, and 2 if it could not run.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/internal/sim"
)

// batch is the number of seeds between two writes of the file.
const batch = 5000

// shares says how many schedules of the class Judged run for each one of another class. Classes whose schedules take longer run
// less often.
var shares = map[sim.Class]uint64{sim.Restore: 10, sim.Moves: 20, sim.Outages: 20, sim.PutBack: 20, sim.Settings: 20, sim.Rollouts: 50}

// soak is what the file keeps.
type soak struct {
	// Go and Binary are the version of Go that built this program, and the program's SHA-256.
	Go     string `json:"go"`
	Binary string `json:"binary"`
	// Schedules is how many seeds of each class ran, from 1 on.
	Schedules map[string]uint64 `json:"schedules"`
	// Seconds is how long that took in all.
	Seconds float64 `json:"seconds"`
	// Violations are what was found, one text for each seed.
	Violations []string `json:"violations"`
}

func main() {
	s, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(2)
	}
	if len(s.Violations) > 0 {
		os.Exit(1)
	}
}

func run(args []string) (*soak, error) {
	if len(args) != 2 {
		return nil, errors.New("want two arguments: the file that keeps the progress, and up to which seed to run")
	}
	file := args[0]
	last, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the last seed: %w", err)
	}
	binary, err := ourBinary()
	if err != nil {
		return nil, err
	}
	s, err := read(file, binary)
	if err != nil {
		return nil, err
	}
	for done := s.Schedules[sim.Judged.String()]; done < last; {
		n := min(batch, last-done)
		start := time.Now()
		s.sweep(sim.Judged, done+n)
		for _, c := range sim.Classes[1:] {
			s.sweep(c, (done+n)/shares[c])
		}
		done += n
		took := time.Since(start).Seconds()
		s.Seconds += took
		if err := s.write(file); err != nil {
			return nil, err
		}
		fmt.Printf("%d of %d seeds, %d violations; %.0f seeds/s\n", done, last, len(s.Violations), float64(n)/took)
	}
	return s, nil
}

// ourBinary returns the SHA-256 of this program.
func ourBinary() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path) // #nosec G304 -- it is ourselves
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// read returns the soak that the file keeps. Without a file the soak begins. A soak of another binary cannot go on.
func read(file, binary string) (*soak, error) {
	s := &soak{Go: runtime.Version(), Binary: binary, Schedules: map[string]uint64{}, Violations: []string{}}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: %w (remove the file to begin anew)", file, err)
	}
	if s.Binary != binary {
		return nil, fmt.Errorf("%s: %d seeds ran on the binary %.12s, built by %s, and this is %.12s, built by %s (remove the file to begin anew)",
			file, s.Schedules[sim.Judged.String()], s.Binary, s.Go, binary, runtime.Version())
	}
	return s, nil
}

// write replaces the file, so that it is whole whenever the soak is stopped.
func (s *soak) write(file string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	next := filepath.Join(filepath.Dir(file), "."+filepath.Base(file)+".next")
	if err := os.WriteFile(next, append(text, '\n'), 0o644); err != nil { // #nosec G306 -- anybody may read it
		return err
	}
	return os.Rename(next, file)
}

// sweep runs the seeds of a class that have not run yet, up to last. It goes on after each violation.
func (s *soak) sweep(c sim.Class, last uint64) {
	for first := s.Schedules[c.String()] + 1; first <= last; {
		_, _, failed := sim.Sweep(first, last-first+1, sim.Options{Class: c})
		if failed == nil {
			break
		}
		fmt.Println(failed.Explain())
		s.Violations = append(s.Violations, fmt.Sprintf("%v:%d %s", failed.Class, failed.Seed, failed.Violation))
		first = failed.Seed + 1
	}
	s.Schedules[c.String()] = max(last, s.Schedules[c.String()])
}
