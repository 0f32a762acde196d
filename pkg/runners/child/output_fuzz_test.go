//go:build linux

package child

import (
	"bytes"
	"slices"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/primacy-dev/primacy/pkg/election/clock"
)

// linesOf returns what should be logged of an output, computed in the simplest way.
func linesOf(data []byte) []string {
	if len(data) == 0 {
		return nil
	}
	parts := bytes.Split(data, []byte{'\n'})
	if len(parts[len(parts)-1]) == 0 {
		parts = parts[:len(parts)-1]
	}
	var lines []string
	for _, p := range parts {
		p = p[:min(len(p), maxLine)]
		lines = append(lines, string(bytes.TrimSuffix(p, []byte{'\r'})))
	}
	return lines
}

// FuzzOutput checks that, whatever a program prints and in whatever pieces it arrives, all of it is
// logged if the rate allows; if not, each line is either logged or counted.
func FuzzOutput(f *testing.F) {
	for _, seed := range []string{"", "one\ntwo", "\n\n\n", "a\r\n\r\n\r", "\xff\xfe\x00\x1b[2J\n", "no end", "x\n\nyyyyyyyyyyyyyyyyyyyyyyyyy\nz\n"} {
		f.Add([]byte(seed), 3)
	}
	f.Add(append(bytes.Repeat([]byte("x"), maxLine+1), "\nrest"...), maxLine-1)
	f.Fuzz(func(t *testing.T, data []byte, chunk int) {
		if chunk < 1 {
			chunk = 1
		}
		logged := func(rate Rate) (got []string, dropped int) {
			core, logs := observer.New(zap.InfoLevel)
			l := newLines(zap.New(core), "stdout", NewBudget(rate, clock.Boottime()))
			for part := range slices.Chunk(data, chunk) {
				l.write(part)
			}
			l.end()
			for _, e := range logs.All() {
				if e.Message == "output" {
					got = append(got, e.ContextMap()["line"].(string))
				} else {
					dropped += int(e.ContextMap()["lines"].(int64))
				}
			}
			return got, dropped
		}
		want := linesOf(data)
		if got, dropped := logged(Rate{Lines: 1 << 40, Bytes: 1 << 50}); !slices.Equal(got, want) || dropped > 0 {
			t.Fatalf("logged %q and dropped %d, want %q", got, dropped, want)
		}
		got, dropped := logged(Rate{Lines: 1, Bytes: 3})
		if len(got)+dropped != len(want) || len(got) > burst || !slices.Equal(got, want[:len(got)]) {
			t.Fatalf("logged %q and dropped %d of %q", got, dropped, want)
		}
	})
}
