// Package span writes and reads the file in which a runner records its own work for the
// judge: three instants of CLOCK_BOOTTIME, 8 bytes each, little-endian
// (when it began, when it was last at work, and when it ended).
package span

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/record"
)

// AliveEvery is how often a worker records that it works. The end of a killed worker is known
// only to this precision.
const AliveEvery = 5 * time.Millisecond

// File is one worker's file.
type File struct{ f *os.File }

// Create makes the file of a worker for a term. It fails if the file exists.
func Create(dir, election, token string) (*File, error) {
	name := fmt.Sprintf("%s@%s@%d", election, token, os.Getpid())
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("worker's file: %w", err)
	}
	return &File{f}, nil
}

// Begin records that the work began now. Alive records that it goes on, and End that it has ended.
func (w *File) Begin(now record.Instant) error { return errors.Join(w.put(0, now), w.put(1, now)) }

// Alive is described at Begin.
func (w *File) Alive(now record.Instant) error { return w.put(1, now) }

// End is described at Begin.
func (w *File) End(now record.Instant) error { return w.put(2, now) }

func (w *File) put(field int64, at record.Instant) error {
	if _, err := w.f.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(at)), 8*field); err != nil { // #nosec G115 -- read back the same way
		return fmt.Errorf("worker's file: %w", err)
	}
	return nil
}

// Span is one worker's work, by its own clock.
type Span struct {
	Election    string
	Token       uint64
	PID         int
	Begin, Till record.Instant
	// Ended: the worker recorded its end, so Till is exact. Otherwise Till is exact to AliveEvery only.
	Ended bool
}

// Read reads the records of all workers so far.
func Read(dir string) ([]Span, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("workers' files: %w", err)
	}
	var spans []Span
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, fmt.Errorf("worker's file: %w", err)
		}
		if len(data) < 16 {
			continue // it has just begun, and its record is not complete
		}
		parts := strings.Split(f.Name(), "@")
		if len(parts) != 3 {
			return nil, fmt.Errorf("worker's file %q has a strange name", f.Name())
		}
		s := Span{Election: parts[0]}
		var errToken, errPID error
		s.Token, errToken = strconv.ParseUint(parts[1], 10, 64)
		s.PID, errPID = strconv.Atoi(parts[2])
		if err := errors.Join(errToken, errPID); err != nil {
			return nil, fmt.Errorf("worker's file %q: %w", f.Name(), err)
		}
		s.Begin = record.Instant(binary.LittleEndian.Uint64(data))    // #nosec G115 -- written from an Instant
		s.Till = record.Instant(binary.LittleEndian.Uint64(data[8:])) // #nosec G115 -- as above
		if len(data) >= 24 {
			s.Till, s.Ended = record.Instant(binary.LittleEndian.Uint64(data[16:])), true // #nosec G115 -- as above
		}
		spans = append(spans, s)
	}
	return spans, nil
}
