package span

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/primacy-dev/primacy/pkg/election/clock"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// NotesVariable is the environment variable that names the folder for the Notes of a process. Beside each file is
// the Pulse of its process, whose name ends in PulseSuffix.
const (
	NotesVariable = "BENCH_NOTES"
	PulseSuffix   = ".pulse"
)

// Notes is the file in which all workers of one process record when they begin and end, a line each.
type Notes struct{ f *os.File }

// OpenNotes makes the file, or goes on with it.
func OpenNotes(file string) (Notes, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return Notes{}, fmt.Errorf("workers' file: %w", err)
	}
	return Notes{f}, nil
}

// Begin records that a worker begins now, and End that it has ended.
func (n Notes) Begin(election string, token uint64) error { return n.note("begin", election, token) }

// End is described at Begin.
func (n Notes) End(election string, token uint64) error { return n.note("end", election, token) }

func (n Notes) note(what, election string, token uint64) error {
	if _, err := fmt.Fprintln(n.f, what, election, token, int64(clock.Boottime().Now())); err != nil {
		return fmt.Errorf("workers' file: %w", err)
	}
	return nil
}

// ReadNotes reads the records of one process's workers, which may still be written. A span without an end lasts until the given instant.
func ReadNotes(file string, until record.Instant) ([]Span, error) {
	notes, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("workers' file: %w", err)
	}
	notes = notes[:bytes.LastIndexByte(notes, '\n')+1] // the last line may be written in part
	open := map[string]int{}
	var spans []Span
	for line := range strings.Lines(string(notes)) {
		var what, election string
		var token uint64
		var at int64
		if _, err := fmt.Sscan(line, &what, &election, &token, &at); err != nil {
			return nil, fmt.Errorf("workers' file %s: %q: %w", file, line, err)
		}
		key := fmt.Sprint(election, " ", token)
		if what == "begin" {
			open[key] = len(spans)
			spans = append(spans, Span{Election: election, Token: token, Begin: record.Instant(at), Till: until})
			continue
		}
		i, found := open[key]
		if !found {
			return nil, fmt.Errorf("workers' file %s: %q ends what did not begin", file, line)
		}
		spans[i].Till, spans[i].Ended = record.Instant(at), true
	}
	return spans, nil
}

// Pulse is the file in which a process records when it last lived.
type Pulse struct{ f *os.File }

// OpenPulse makes the file, with a first beat.
func OpenPulse(file string) (Pulse, error) {
	f, err := os.OpenFile(file+".new", os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return Pulse{}, fmt.Errorf("pulse: %w", err)
	}
	p := Pulse{f}
	return p, errors.Join(p.Beat(), os.Rename(f.Name(), file))
}

// Beat records that the process lives now. The caller calls it every AliveEvery.
func (p Pulse) Beat() error {
	now := clock.Boottime().Now()
	if _, err := p.f.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(now)), 0); err != nil { // #nosec G115 -- read back the same way
		return fmt.Errorf("pulse: %w", err)
	}
	return nil
}

// ReadPulse is when a process last lived, as far as its file says.
func ReadPulse(file string) (record.Instant, error) {
	data, err := os.ReadFile(file)
	if err == nil && len(data) < 8 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, fmt.Errorf("pulse %s: %w", file, err)
	}
	return record.Instant(binary.LittleEndian.Uint64(data)), nil // #nosec G115 -- written from an Instant
}
