package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/cmd/bench/span"
	"github.com/primacy-dev/primacy/pkg/election/record"
)

// write writes the records of a process's functions, and when the process last lived.
func (m *mortals) write(t *testing.T, pid int, pulse record.Instant, lines ...string) {
	t.Helper()
	text := ""
	for _, l := range lines {
		text += l + "\n"
	}
	file := filepath.Join(m.notes, fmt.Sprint(pid))
	for name, data := range map[string][]byte{file: []byte(text), file + span.PulseSuffix: binary.LittleEndian.AppendUint64(nil, uint64(pulse))} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheJudgeSeesFunctionsThatOverlap plants the records of a process that died while its function worked, and of one
// whose function began 1 ms before that.
func TestTheJudgeSeesFunctionsThatOverlap(t *testing.T) {
	m := &mortals{bench: &bench{spans: t.TempDir()}, notes: t.TempDir()}
	m.write(t, 1, 5_000_000, "begin e 1 1000000", "begin f 1 1000000", "end f 1 2000000")
	m.write(t, 2, 9_000_000, "begin e 2 4000000", "begin f 2 2000000")
	spans, err := m.spansOfAll()
	if err != nil {
		t.Fatal(err)
	}
	if v := judge(spans); v.terms != 4 || len(v.overlaps) != 1 || v.overlapping() != time.Millisecond || v.overlaps[0].a.PID != 1 {
		t.Errorf("the judge says %+v", v)
	}
}

// TestWhatALoopCosts checks the figures of a time in which one election kills its holders.
func TestWhatALoopCosts(t *testing.T) {
	at := func(s float64) record.Instant { return record.Instant(s * float64(time.Second)) }
	worked := func(e string, from, till float64) span.Span {
		return span.Span{Election: e, Begin: at(from), Till: at(till)}
	}
	l := looped([]span.Span{
		worked("deadly", 1, 1), worked("deadly", 10, 10), worked("deadly", 75, 75), worked("deadly", 130, 130), // the last two are the second minute's, and too late
		worked("e", 50, 90), worked("e", 0, 40), worked("e", 92, 200),
		worked("f", 0, 100),
	}, []string{"deadly", "e", "f"}, at(5), at(125))
	want := loop{
		Elections: 2, Lasted: 2 * time.Minute, Deaths: []int{1, 1}, Gaps: 3, Away: (10. + 2 + 25) / 240,
		P50: 10 * time.Second, P99: 25 * time.Second, Longest: 25 * time.Second,
	}
	if !slices.Equal(l.Deaths, want.Deaths) || fmt.Sprintf("%.6v", l) != fmt.Sprintf("%.6v", want) {
		t.Errorf("it says %+v, want %+v", l, want)
	}
}
